// The resident memory of many actors that have handled one message and are idle.
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "caf_bench.h"

namespace bench {
namespace {

constexpr int64_t kBatch = 1000;

caf::behavior Tenant(caf::event_based_actor* self, caf::actor landlord) {
  return {
      [=](hello_atom, int64_t amount) { self->send(landlord, done_atom::value, amount); },
      [=](other_atom, int64_t) {},
  };
}

struct LandlordState {
  std::vector<caf::actor> tenants;  // an actor without handles is gone
  int64_t left = 0;
  int64_t batch = 0;
  int64_t told = 0;
};
using LandlordActor = caf::stateful_actor<LandlordState>;

void SpawnBatch(LandlordActor* self) {
  auto& state = self->state;
  state.batch = std::min(state.left, kBatch);
  state.left -= state.batch;
  for (int64_t i = 0; i < state.batch; ++i) {
    state.tenants.push_back(self->spawn(Tenant, caf::actor_cast<caf::actor>(self)));
    self->send(state.tenants.back(), hello_atom::value, int64_t{1});
  }
}

caf::behavior Landlord(LandlordActor* self, caf::actor main) {
  return {
      [=](start_atom, int64_t tenants) {
        self->state.left = tenants;
        self->state.told = 0;
        SpawnBatch(self);
      },
      [=](done_atom, int64_t amount) {
        auto& state = self->state;
        state.told += amount;
        if (--state.batch > 0) return;
        if (state.left > 0) {
          SpawnBatch(self);
        } else {
          self->send(main, done_atom::value, state.told);
        }
      },
  };
}

int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total_pages = 0;
  int64_t resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

}  // namespace

Measurement Run(caf::actor_system& system, int64_t operations) {
  caf::scoped_actor self{system};
  const caf::actor landlord = system.spawn(Landlord, caf::actor_cast<caf::actor>(self));
  self->send(landlord, start_atom::value, kBatch);
  AwaitDone(self);
  const int64_t before = ResidentBytes();
  const Stopwatch stopwatch;
  self->send(landlord, start_atom::value, operations);
  Measurement measured;
  measured.count = AwaitDone(self);
  measured.seconds = stopwatch.Seconds();
  measured.bytes = ResidentBytes() - before;
  EndAll(self, {landlord});
  return measured;
}

}  // namespace bench

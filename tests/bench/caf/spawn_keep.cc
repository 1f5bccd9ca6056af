// An actor spawns many actors, which tell it that they have started, and keep running. Ending them is not measured.
#include "caf_bench.h"

namespace bench {
namespace {

caf::behavior Tenant(caf::event_based_actor* self, caf::actor landlord) {
  self->send(landlord, done_atom::value, int64_t{1});
  return {
      [=](next_atom) { self->quit(); },
  };
}

struct LandlordState {
  std::vector<caf::actor> tenants;
  int64_t left = 0;
  int64_t sum = 0;
};

caf::behavior Landlord(caf::stateful_actor<LandlordState>* self, caf::actor main) {
  return {
      [=](start_atom, int64_t tenants) {
        self->state.left = tenants;
        for (int64_t i = 0; i < tenants; ++i) {
          self->state.tenants.push_back(self->spawn(Tenant, caf::actor_cast<caf::actor>(self)));
        }
      },
      [=](done_atom, int64_t amount) {
        self->state.sum += amount;
        if (--self->state.left == 0) self->send(main, done_atom::value, self->state.sum);
      },
      [=](next_atom) {
        for (const caf::actor& tenant : self->state.tenants) self->send(tenant, next_atom::value);
        self->state.tenants.clear();
      },
  };
}

}  // namespace

Measurement Run(caf::actor_system& system, int64_t operations) {
  caf::scoped_actor self{system};
  const caf::actor landlord = system.spawn(Landlord, caf::actor_cast<caf::actor>(self));
  const Stopwatch stopwatch;
  self->send(landlord, start_atom::value, operations);
  Measurement measured;
  measured.count = AwaitDone(self);
  measured.seconds = stopwatch.Seconds();
  self->send(landlord, next_atom::value);
  EndAll(self, {landlord});
  return measured;
}

}  // namespace bench

// A ring of 100 actors through which one token goes.
#include "caf_bench.h"

namespace bench {
namespace {

constexpr int kRingActors = 100;

struct MemberState {
  caf::actor next;
  int64_t hops = 0;
};

caf::behavior Member(caf::stateful_actor<MemberState>* self, caf::actor main) {
  return {
      [=](next_atom, const caf::actor& next) { self->state.next = next; },
      [=](token_atom, int64_t hops_left) {
        ++self->state.hops;
        if (hops_left == 1) {
          self->send(main, done_atom::value, hops_left);
        } else {
          self->send(self->state.next, token_atom::value, hops_left - 1);
        }
      },
      [=](count_atom) { return self->state.hops; },
  };
}

}  // namespace

Measurement Run(caf::actor_system& system, int64_t operations) {
  caf::scoped_actor self{system};
  std::vector<caf::actor> members;
  for (int i = 0; i < kRingActors; ++i) members.push_back(system.spawn(Member, caf::actor_cast<caf::actor>(self)));
  for (int i = 0; i < kRingActors; ++i) {
    self->send(members[i], next_atom::value, members[(i + 1) % kRingActors]);
    AskCount(self, members[i]);
  }
  const Stopwatch stopwatch;
  self->send(members[0], token_atom::value, operations);
  AwaitDone(self);
  Measurement measured;
  measured.seconds = stopwatch.Seconds();
  for (const caf::actor& member : members) measured.count += AskCount(self, member);
  EndAll(self, members);
  return measured;
}

}  // namespace bench

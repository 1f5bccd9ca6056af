// An actor spawns many children, each of which handles one message and ends.
#include "caf_bench.h"

namespace bench {
namespace {

caf::behavior Child(caf::event_based_actor* self, caf::actor join) {
  return {
      [=](work_atom, int64_t amount) {
        self->send(join, done_atom::value, amount);
        self->quit();
      },
  };
}

struct ParentState {
  int64_t children_left = 0;
  int64_t sum = 0;
};

caf::behavior Parent(caf::stateful_actor<ParentState>* self, caf::actor main) {
  return {
      [=](start_atom, int64_t children) {
        self->state.children_left = children;
        for (int64_t i = 0; i < children; ++i) {
          const caf::actor child = self->spawn(Child, caf::actor_cast<caf::actor>(self));
          self->send(child, work_atom::value, int64_t{1});
        }
      },
      [=](done_atom, int64_t amount) {
        self->state.sum += amount;
        if (--self->state.children_left == 0) self->send(main, done_atom::value, self->state.sum);
      },
  };
}

}  // namespace

Measurement Run(caf::actor_system& system, int64_t operations) {
  caf::scoped_actor self{system};
  const caf::actor parent = system.spawn(Parent, caf::actor_cast<caf::actor>(self));
  const Stopwatch stopwatch;
  self->send(parent, start_atom::value, operations);
  Measurement measured;
  measured.count = AwaitDone(self);
  measured.seconds = stopwatch.Seconds();
  EndAll(self, {parent});
  return measured;
}

}  // namespace bench

// A tree of actors in which each inner actor has ten children. Each leaf sends its number to its parent; each inner
// actor sends the sum of its children's numbers to its parent, and ends.
#include "caf_bench.h"

namespace bench {
namespace {

constexpr int64_t kChildren = 10;

struct NodeState {
  int64_t children_left = 0;
  int64_t sum = 0;
};

caf::behavior Node(caf::stateful_actor<NodeState>* self, caf::actor above, int64_t first, int64_t leaves) {
  if (leaves == 1) {
    self->send(above, done_atom::value, first);
    return {};
  }
  for (int64_t i = 0; i < kChildren; ++i) {
    const int64_t begin = leaves * i / kChildren;
    const int64_t end = leaves * (i + 1) / kChildren;
    if (begin == end) continue;
    self->spawn(Node, caf::actor_cast<caf::actor>(self), first + begin, end - begin);
    ++self->state.children_left;
  }
  return {
      [=](done_atom, int64_t below) {
        self->state.sum += below;
        if (--self->state.children_left > 0) return;
        self->send(above, done_atom::value, self->state.sum);
        self->quit();
      },
  };
}

}  // namespace

Measurement Run(caf::actor_system& system, int64_t operations) {
  caf::scoped_actor self{system};
  const Stopwatch stopwatch;
  system.spawn(Node, caf::actor_cast<caf::actor>(self), int64_t{0}, operations);
  const int64_t sum = AwaitDone(self);
  Measurement measured;
  measured.seconds = stopwatch.Seconds();
  measured.count = operations;
  Check(sum == operations * (operations - 1) / 2, "a wrong sum of the leaves");
  return measured;
}

}  // namespace bench

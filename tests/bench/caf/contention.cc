// Twenty producers send to one actor.
#include "caf_bench.h"

namespace bench {
namespace {

constexpr int kProducers = 20;

struct SinkState {
  int64_t left = 0;
  int64_t sum = 0;
};

caf::behavior Sink(caf::stateful_actor<SinkState>* self, int64_t expected, caf::actor main) {
  self->state.left = expected;
  return {
      [=](add_atom, int64_t amount) {
        self->state.sum += amount;
        if (--self->state.left == 0) self->send(main, done_atom::value, self->state.sum);
      },
  };
}

caf::behavior Producer(caf::event_based_actor* self, caf::actor sink) {
  return {
      [=](start_atom, int64_t messages) {
        for (int64_t i = 0; i < messages; ++i) self->send(sink, add_atom::value, int64_t{1});
      },
  };
}

}  // namespace

Measurement Run(caf::actor_system& system, int64_t operations) {
  caf::scoped_actor self{system};
  const caf::actor sink = system.spawn(Sink, operations, caf::actor_cast<caf::actor>(self));
  std::vector<caf::actor> actors{sink};
  for (int i = 0; i < kProducers; ++i) actors.push_back(system.spawn(Producer, sink));
  const Stopwatch stopwatch;
  for (int i = 1; i <= kProducers; ++i) self->send(actors[i], start_atom::value, operations / kProducers);
  Measurement measured;
  measured.count = AwaitDone(self);
  measured.seconds = stopwatch.Seconds();
  EndAll(self, actors);
  return measured;
}

}  // namespace bench

// A producer sends increments to a counter, and then asks for the total.
#include "caf_bench.h"

namespace bench {
namespace {

struct CounterState {
  int64_t sum = 0;
};

caf::behavior Counter(caf::stateful_actor<CounterState>* self) {
  return {
      [=](add_atom, int64_t amount) { self->state.sum += amount; },
      [=](total_atom) { return self->state.sum; },
  };
}

caf::behavior Producer(caf::event_based_actor* self, caf::actor counter, caf::actor main) {
  return {
      [=](start_atom, int64_t messages) {
        for (int64_t i = 0; i < messages; ++i) self->send(counter, add_atom::value, int64_t{1});
        self->request(counter, std::chrono::seconds(60), total_atom::value).then([=](int64_t total) {
          self->send(main, done_atom::value, total);
        });
      },
  };
}

}  // namespace

Measurement Run(caf::actor_system& system, int64_t operations) {
  caf::scoped_actor self{system};
  const caf::actor counter = system.spawn(Counter);
  const caf::actor producer = system.spawn(Producer, counter, caf::actor_cast<caf::actor>(self));
  const Stopwatch stopwatch;
  self->send(producer, start_atom::value, operations);
  Measurement measured;
  measured.count = AwaitDone(self);
  measured.seconds = stopwatch.Seconds();
  EndAll(self, {counter, producer});
  return measured;
}

}  // namespace bench

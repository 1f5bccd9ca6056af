// A producer sends messages that its receiver skips, and then the message after which the receiver handles all of them.
#include "caf_bench.h"

namespace bench {
namespace {

caf::behavior Gate(caf::event_based_actor* self, caf::actor main) {
  self->set_default_handler(caf::skip);
  return {
      [=](open_atom, int64_t expected) {
        int64_t handled = 0;
        self->become([=](add_atom, int64_t amount) mutable {
          handled += amount;
          if (handled == expected) self->send(main, done_atom::value, handled);
        });
      },
  };
}

caf::behavior Producer(caf::event_based_actor* self, caf::actor gate) {
  return {
      [=](start_atom, int64_t messages) {
        for (int64_t i = 0; i < messages; ++i) self->send(gate, add_atom::value, int64_t{1});
        self->send(gate, open_atom::value, messages);
      },
  };
}

}  // namespace

Measurement Run(caf::actor_system& system, int64_t operations) {
  caf::scoped_actor self{system};
  const caf::actor gate = system.spawn(Gate, caf::actor_cast<caf::actor>(self));
  const caf::actor producer = system.spawn(Producer, gate);
  const Stopwatch stopwatch;
  self->send(producer, start_atom::value, operations);
  Measurement measured;
  measured.count = AwaitDone(self);
  measured.seconds = stopwatch.Seconds();
  EndAll(self, {gate, producer});
  return measured;
}

}  // namespace bench

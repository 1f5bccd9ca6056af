// Two actors: one pings, the other answers each ping with a pong.
#include "caf_bench.h"

namespace bench {
namespace {

struct PongerState {
  int64_t pings = 0;
};

caf::behavior Ponger(caf::stateful_actor<PongerState>* self) {
  return {
      [=](ping_atom, int64_t number, const caf::actor& pinger) {
        ++self->state.pings;
        self->send(pinger, pong_atom::value, number);
      },
      [=](count_atom) { return self->state.pings; },
  };
}

struct PingerState {
  int64_t left = 0;
  int64_t pongs = 0;
};

caf::behavior Pinger(caf::stateful_actor<PingerState>* self, caf::actor ponger, caf::actor main) {
  return {
      [=](start_atom, int64_t round_trips) {
        self->state.left = round_trips;
        self->send(ponger, ping_atom::value, self->state.left, caf::actor_cast<caf::actor>(self));
      },
      [=](pong_atom, int64_t number) {
        auto& state = self->state;
        Check(number == state.left, "a pong of another ping");
        ++state.pongs;
        if (--state.left == 0) {
          self->send(main, done_atom::value, state.pongs);
        } else {
          self->send(ponger, ping_atom::value, state.left, caf::actor_cast<caf::actor>(self));
        }
      },
  };
}

}  // namespace

Measurement Run(caf::actor_system& system, int64_t operations) {
  caf::scoped_actor self{system};
  const caf::actor ponger = system.spawn(Ponger);
  const caf::actor pinger = system.spawn(Pinger, ponger, caf::actor_cast<caf::actor>(self));
  const Stopwatch stopwatch;
  self->send(pinger, start_atom::value, operations);
  Measurement measured;
  measured.count = AwaitDone(self);
  measured.seconds = stopwatch.Seconds();
  Check(AskCount(self, ponger) == operations, "pings were lost");
  EndAll(self, {ponger, pinger});
  return measured;
}

}  // namespace bench

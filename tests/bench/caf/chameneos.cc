// Savina's "chameneos": 100 creatures meet in pairs at a mall, which shows the first of a pair the second one.
#include "caf_bench.h"

namespace bench {
namespace {

constexpr int kCreatures = 100;

int64_t Complement(int64_t colour, int64_t other) { return colour == other ? colour : 3 - colour - other; }

struct CreatureState {
  int64_t colour = 0;
  int64_t met = 0;
};
using CreatureActor = caf::stateful_actor<CreatureState>;

void Go(CreatureActor* self, const caf::actor& mall) {
  self->send(mall, meet_atom::value, caf::actor_cast<caf::actor>(self), self->state.colour);
}

caf::behavior Creature(CreatureActor* self, caf::actor mall, int64_t colour) {
  self->state.colour = colour;
  Go(self, mall);
  return {
      [=](meet_atom, const caf::actor& creature, int64_t of_other) {
        auto& state = self->state;
        state.colour = Complement(state.colour, of_other);
        self->send(creature, next_atom::value, state.colour);
        ++state.met;
        Go(self, mall);
      },
      [=](next_atom, int64_t of_other) {
        auto& state = self->state;
        state.colour = Complement(state.colour, of_other);
        ++state.met;
        Go(self, mall);
      },
      [=](total_atom) {
        self->send(mall, done_atom::value, self->state.met);
        self->quit();
      },
  };
}

struct MallState {
  int64_t meetings_left = 0;
  caf::actor waiting;
  int creatures_home = 0;
  int64_t met = 0;
};

caf::behavior Mall(caf::stateful_actor<MallState>* self, caf::actor main) {
  return {
      [=](start_atom, int64_t meetings) {
        self->state.meetings_left = meetings;
        for (int64_t i = 0; i < kCreatures; ++i) self->spawn(Creature, caf::actor_cast<caf::actor>(self), i % 3);
      },
      [=](meet_atom, const caf::actor& creature, int64_t colour) {
        auto& state = self->state;
        if (state.meetings_left == 0) {
          self->send(creature, total_atom::value);
        } else if (!state.waiting) {
          state.waiting = creature;
        } else {
          self->send(state.waiting, meet_atom::value, creature, colour);
          state.waiting = nullptr;
          --state.meetings_left;
        }
      },
      [=](done_atom, int64_t met) {
        auto& state = self->state;
        state.met += met;
        if (++state.creatures_home == kCreatures) self->send(main, done_atom::value, state.met);
      },
  };
}

}  // namespace

Measurement Run(caf::actor_system& system, int64_t operations) {
  caf::scoped_actor self{system};
  const caf::actor mall = system.spawn(Mall, caf::actor_cast<caf::actor>(self));
  const Stopwatch stopwatch;
  self->send(mall, start_atom::value, operations);
  const int64_t met = AwaitDone(self);
  Measurement measured;
  measured.seconds = stopwatch.Seconds();
  measured.count = operations;
  Check(met == 2 * operations, "meetings were lost");
  EndAll(self, {mall});
  return measured;
}

}  // namespace bench

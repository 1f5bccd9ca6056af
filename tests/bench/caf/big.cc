// Savina's "big": each of 120 actors pings a random other one, waits for its pong, and pings the next.
#include "caf_bench.h"

namespace bench {
namespace {

constexpr int kBigActors = 120;

struct PlayerState {
  int64_t number = 0;
  int64_t random = 0;
  std::vector<caf::actor> players;
  int64_t left = 0;
  int64_t expected = 0;
  int64_t pings = 0;
  int64_t pongs = 0;
};
using PlayerActor = caf::stateful_actor<PlayerState>;

// Pings a random other player. The sequence of players is the same as in Understudy's program.
void PingSomebody(PlayerActor* self) {
  auto& state = self->state;
  state.random = (state.random * 1103515245 + 12345) & 0x7fffffff;
  state.expected = (state.number + 1 + (state.random >> 8) % (kBigActors - 1)) % kBigActors;
  self->send(state.players[state.expected], ping_atom::value, state.number, caf::actor_cast<caf::actor>(self));
}

caf::behavior Player(PlayerActor* self, int64_t own_number, caf::actor main) {
  self->state.number = own_number;
  self->state.random = own_number + 1;
  return {
      [=](meet_atom, std::vector<caf::actor>& players) { self->state.players = std::move(players); },
      [=](start_atom, int64_t pings) {
        self->state.left = pings;
        PingSomebody(self);
      },
      [=](ping_atom, int64_t, const caf::actor& pinger) {
        ++self->state.pings;
        self->send(pinger, pong_atom::value, self->state.number);
      },
      [=](pong_atom, int64_t from) {
        auto& state = self->state;
        Check(from == state.expected, "a pong of another player");
        ++state.pongs;
        if (--state.left == 0) {
          self->send(main, done_atom::value, state.pongs);
        } else {
          PingSomebody(self);
        }
      },
      [=](count_atom) { return self->state.pings; },
  };
}

}  // namespace

Measurement Run(caf::actor_system& system, int64_t operations) {
  caf::scoped_actor self{system};
  std::vector<caf::actor> players;
  for (int i = 0; i < kBigActors; ++i) {
    players.push_back(system.spawn(Player, int64_t{i}, caf::actor_cast<caf::actor>(self)));
  }
  for (const caf::actor& player : players) {
    self->send(player, meet_atom::value, players);
    AskCount(self, player);
  }
  const Stopwatch stopwatch;
  for (const caf::actor& player : players) self->send(player, start_atom::value, operations / kBigActors);
  Measurement measured;
  for (int i = 0; i < kBigActors; ++i) measured.count += AwaitDone(self);
  measured.seconds = stopwatch.Seconds();
  int64_t answered = 0;
  for (const caf::actor& player : players) answered += AskCount(self, player);
  Check(answered == operations, "pings were lost");
  EndAll(self, players);
  return measured;
}

}  // namespace bench

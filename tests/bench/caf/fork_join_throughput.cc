// An actor sends to each of 60 workers, round after round, and does not wait for them.
#include "caf_bench.h"

namespace bench {
namespace {

constexpr int kWorkers = 60;

struct WorkerState {
  int64_t sum = 0;
};

caf::behavior Worker(caf::stateful_actor<WorkerState>* self, caf::actor director, int64_t messages) {
  return {
      [=](work_atom, int64_t amount) {
        self->state.sum += amount;
        if (self->state.sum == messages) self->send(director, done_atom::value, self->state.sum);
      },
  };
}

struct DirectorState {
  std::vector<caf::actor> workers;
  int workers_done = 0;
  int64_t sum = 0;
};

caf::behavior Director(caf::stateful_actor<DirectorState>* self, caf::actor main) {
  return {
      [=](meet_atom, const caf::actor& worker) { self->state.workers.push_back(worker); },
      [=](start_atom, int64_t rounds) {
        for (int64_t round = 0; round < rounds; ++round) {
          for (const caf::actor& worker : self->state.workers) self->send(worker, work_atom::value, int64_t{1});
        }
      },
      [=](done_atom, int64_t handled) {
        self->state.sum += handled;
        if (++self->state.workers_done == kWorkers) self->send(main, done_atom::value, self->state.sum);
      },
  };
}

}  // namespace

Measurement Run(caf::actor_system& system, int64_t operations) {
  caf::scoped_actor self{system};
  const int64_t rounds = operations / kWorkers;
  const caf::actor director = system.spawn(Director, caf::actor_cast<caf::actor>(self));
  std::vector<caf::actor> actors{director};
  for (int i = 0; i < kWorkers; ++i) {
    actors.push_back(system.spawn(Worker, director, rounds));
    self->send(director, meet_atom::value, actors.back());
  }
  const Stopwatch stopwatch;
  self->send(director, start_atom::value, rounds);
  Measurement measured;
  measured.count = AwaitDone(self);
  measured.seconds = stopwatch.Seconds();
  EndAll(self, actors);
  return measured;
}

}  // namespace bench

// A client sends a request with a timeout of 5 s, and sends the next after the response.
#include "caf_bench.h"

namespace bench {
namespace {

struct ServerState {
  int64_t calls = 0;
};

caf::behavior Server(caf::stateful_actor<ServerState>* self) {
  return {
      [=](next_atom, int64_t number) {
        ++self->state.calls;
        return number + 1;
      },
      [=](count_atom) { return self->state.calls; },
  };
}

void AskNext(caf::event_based_actor* self, const caf::actor& server, const caf::actor& main, int64_t number,
             int64_t asks) {
  self->request(server, std::chrono::seconds(5), next_atom::value, number).then([=](int64_t answer) {
    Check(answer == number + 1, "a wrong answer");
    if (answer == asks) {
      self->send(main, done_atom::value, answer);
    } else {
      AskNext(self, server, main, answer, asks);
    }
  });
}

caf::behavior Client(caf::event_based_actor* self, caf::actor server, caf::actor main) {
  return {
      [=](start_atom, int64_t asks) { AskNext(self, server, main, 0, asks); },
  };
}

}  // namespace

Measurement Run(caf::actor_system& system, int64_t operations) {
  caf::scoped_actor self{system};
  const caf::actor server = system.spawn(Server);
  const caf::actor client = system.spawn(Client, server, caf::actor_cast<caf::actor>(self));
  const Stopwatch stopwatch;
  self->send(client, start_atom::value, operations);
  Measurement measured;
  measured.count = AwaitDone(self);
  measured.seconds = stopwatch.Seconds();
  Check(AskCount(self, server) == operations, "calls were lost");
  EndAll(self, {server, client});
  return measured;
}

}  // namespace bench

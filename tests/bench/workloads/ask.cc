// A client asks a server, awaits the typed reply, and asks again.
#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

class Server final : public Actor {
 public:
  Mailbox<"next_of", Call<int64_t, int64_t>> next_of{this};
  Mailbox<"count", Call<int, int64_t>> count{this};

  StartResult Start() override { return serving_; }

 private:
  int64_t NextOf(int64_t number) {
    ++calls_;
    return number + 1;
  }
  int64_t Count(int) { return calls_; }

  int64_t calls_ = 0;
  Behavior serving_{"serving", On(next_of, &Server::NextOf), On(count, &Server::Count)};
};

class Client final : public Actor {
 public:
  Mailbox<"start", int64_t> start{this};

  Client(Ref<Server> server, Finish* finish) : server_(server), finish_(finish) {}

  StartResult Start() override { return asking_; }

 private:
  Task<> Run(int64_t asks) {
    const Channel<Call<int64_t, int64_t>> next_of = server_[&Server::next_of];
    int64_t number = 0;
    while (number < asks) {
      const auto asked = next_of.Ask(number, kAskTimeout);
      const absl::StatusOr<int64_t> answer = co_await asked;
      UNDERSTUDY_CHECK(answer.ok() && *answer == number + 1, "a wrong answer: ", answer.status().ToString());
      number = *answer;
    }
    finish_->Report(number);
  }

  const Ref<Server> server_;
  Finish* const finish_;
  Behavior asking_{"asking", On(start, &Client::Run)};
};

}  // namespace

Measurement RunAsk(ActorSystem& system, int64_t operations) {
  Finish finish(system);
  const Ref<Server> server = system.Spawn<Server>();
  const Ref<Client> client = system.Spawn<Client>(server, &finish);
  const Stopwatch stopwatch;
  SendOrDie(client[&Client::start], operations);
  Measurement measured{.count = finish.Await()};
  measured.seconds = stopwatch.Seconds();
  UNDERSTUDY_CHECK(AskOrDie(system, server[&Server::count], 0) == operations, "calls were lost");
  EndActors(system, {server.pid(), client.pid()});
  return measured;
}

}  // namespace understudy::bench

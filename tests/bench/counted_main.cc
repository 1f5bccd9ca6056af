// Runs one operation of the kernel again and again, on one worker thread, for callgrind to count its instructions:
//
//   counted --operation=send --bytes=80 --operations=6400
//
// Messages are sent in bursts, so that the mailbox never holds more than its capacity and the fixed cost of a burst is
// spread over many messages. The sends run inside understudy_counted_sends, by which callgrind tells them from the
// rest.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "understudy/actors/trace.h"
#include "understudy/tests/bench/build_info.h"
#include "understudy/tests/bench/measuring.h"

extern "C" void understudy_counted_sends(void (*send)(void*), void* argument) { send(argument); }

namespace understudy::bench {
namespace {

constexpr int64_t kBurst = 640;
// In the operations with traces, one of this number of letters, or round trips, is traced.
constexpr int64_t kTracedOf = 100;

// Takes spans as the exporter's queue does (transport/tracing/span_queue.h): it copies them under a flag.
class SpanRing final : public SpanSink {
 public:
  void Take(const Span& span) override {
    // acquire: pairs with the release store below, by the thread that held the flag before.
    if (is_locked_.exchange(true, std::memory_order_acquire)) return;
    spans_[++count_ % spans_.size()] = span;
    is_locked_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> is_locked_{false};
  std::array<Span, 1024> spans_;  // written by the thread that holds is_locked_
  size_t count_ = 0;              // likewise
};

template <size_t kBytes>
struct Letter {
  static_assert(kBytes % sizeof(int64_t) == 0);
  std::array<int64_t, kBytes / sizeof(int64_t)> words{};
};

// Sends `count` letters inside understudy_counted_sends, so that callgrind can tell the sends from other code.
template <size_t kBytes>
void SendBurst(const Channel<Letter<kBytes>>& channel, int64_t count) {
  struct Argument {
    Channel<Letter<kBytes>> channel;
    int64_t count;
  };
  Argument argument{channel, count};
  // The call goes through a volatile pointer, so that the compiler neither inlines the function nor clones it under
  // another name.
  void (*volatile counted)(void (*)(void*), void*) = &understudy_counted_sends;
  counted(
      [](void* pointer) {
        auto& [to, left] = *static_cast<Argument*>(pointer);
        for (; left > 0; --left) SendOrDie(to, Letter<kBytes>{{left}});
      },
      &argument);
}

// Sends a burst to its receiver, and the next burst when the receiver has handled it.
template <size_t kBytes>
class Driver final : public Actor {
 public:
  Mailbox<"start", int64_t> start{this};
  Mailbox<"done", int64_t> done{this};

  Driver(Channel<Letter<kBytes>> letters, Channel<int64_t> end_of_burst, Finish* finish, bool traces)
      : letters_(letters), end_of_burst_(end_of_burst), finish_(finish), traces_(traces) {}

  StartResult Start() override { return driving_; }

 private:
  void Begin(int64_t letters) {
    left_ = letters;
    Burst();
  }
  void Burst() {
    traces_ ? SendTraced(std::min(left_, kBurst)) : SendBurst<kBytes>(letters_, std::min(left_, kBurst));
    left_ -= std::min(left_, kBurst);
    SendOrDie(end_of_burst_, left_);
  }
  void SendTraced(int64_t count) {
    for (; count > 0; --count) {
      const bool is_traced = --until_trace_ == 0;
      if (is_traced) until_trace_ = kTracedOf;
      if (is_traced) (void)context().StartTrace("letter");
      SendOrDie(letters_, Letter<kBytes>{{count}});
      if (is_traced) context().EndTrace();
    }
  }
  void Done(int64_t handled) {
    if (left_ > 0) {
      Burst();
    } else {
      finish_->Report(handled);
    }
  }

  const Channel<Letter<kBytes>> letters_;
  const Channel<int64_t> end_of_burst_;
  Finish* const finish_;
  const bool traces_;
  int64_t until_trace_ = kTracedOf;
  int64_t left_ = 0;
  Behavior driving_{"driving", On(start, &Driver::Begin), On(done, &Driver::Done)};
};

// How a receiver takes its letters.
enum class Taking { kPlain, kBecoming, kGuarded };

template <size_t kBytes>
class Receiver final : public Actor {
 public:
  using Body = Letter<kBytes>;
  Mailbox<"letter", Body> letter{this};
  Mailbox<"end_of_burst", int64_t> end_of_burst{this};
  Mailbox<"driver", Channel<int64_t>> driver{this};
  Mailbox<"count", Call<int, int64_t>> count{this};

  explicit Receiver(Taking taking) : taking_(taking) {}

  StartResult Start() override {
    return taking_ == Taking::kPlain ? plain_ : taking_ == Taking::kGuarded ? guarded_ : even_;
  }

 private:
  bool IsOpen() const { return is_open_; }
  void Take(const Body& body) {
    ++taken_;
    last_ = body.words[0];
  }
  void TakeEven(const Body& body) {
    Take(body);
    Become(odd_);
  }
  void TakeOdd(const Body& body) {
    Take(body);
    Become(even_);
  }
  void TakeGuarded(const Body& body) {
    Take(body);
    // This is the last letter of a burst.
    if (last_ == 1) {
      is_open_ = false;
      SendOrDie(driver_, taken_);
    }
  }
  void Open() { is_open_ = true; }
  void EndOfBurst() { SendOrDie(driver_, taken_); }
  void Meet(const Channel<int64_t>& channel) { driver_ = channel; }
  int64_t Count(int) { return taken_; }

  const Taking taking_;
  bool is_open_ = false;
  int64_t taken_ = 0;
  int64_t last_ = 0;
  Channel<int64_t> driver_;
  Behavior plain_{"plain", On(letter, &Receiver::Take), On(end_of_burst, &Receiver::EndOfBurst),
                  On(driver, &Receiver::Meet), On(count, &Receiver::Count)};
  Behavior even_{"even", On(letter, &Receiver::TakeEven), On(end_of_burst, &Receiver::EndOfBurst),
                 On(driver, &Receiver::Meet), On(count, &Receiver::Count)};
  Behavior odd_{"odd", On(letter, &Receiver::TakeOdd), On(end_of_burst, &Receiver::EndOfBurst),
                On(driver, &Receiver::Meet), On(count, &Receiver::Count)};
  Behavior guarded_{"guarded", On(letter, &Receiver::TakeGuarded).When(&Receiver::IsOpen),
                    On(end_of_burst, &Receiver::Open), On(driver, &Receiver::Meet), On(count, &Receiver::Count)};
};

template <size_t kBytes>
int64_t RunBursts(ActorSystem& system, Taking taking, int64_t letters, bool traces = false) {
  using To = Receiver<kBytes>;
  using From = Driver<kBytes>;
  Finish finish(system);
  const Ref<To> receiver = system.Spawn<To>(taking);
  const Ref<From> driver = system.Spawn<From>(receiver[&To::letter], receiver[&To::end_of_burst], &finish, traces);
  SendOrDie(receiver[&To::driver], driver[&From::done]);
  AwaitStarted(system, receiver[&To::count]);
  SendOrDie(driver[&From::start], letters);
  const int64_t handled = finish.Await();
  EndActors(system, {receiver.pid(), driver.pid()});
  return handled;
}

// How an echo returns the letters that it gets.
enum class GivingBack { kByTell, kByResult, kByReplier };

template <size_t kBytes>
class Echo final : public Actor {
 public:
  using Body = Letter<kBytes>;
  Mailbox<"call", Call<Body, Body>> call{this};
  Mailbox<"tell", Body> tell{this};
  Mailbox<"back", Channel<Body>> back{this};

  explicit Echo(GivingBack how) : how_(how) {}

  StartResult Start() override { return how_ == GivingBack::kByReplier ? replying_ : echoing_; }

 private:
  Body Answer(const Body& body) { return body; }
  void Reply(const Body& body, Replier<Body> replier) { replier.Reply(body); }
  void Return(const Body& body) { SendOrDie(back_, body); }
  void SetBack(const Channel<Body>& channel) { back_ = channel; }

  const GivingBack how_;
  Channel<Body> back_;
  Behavior echoing_{"echoing", On(call, &Echo::Answer), On(tell, &Echo::Return), On(back, &Echo::SetBack)};
  Behavior replying_{"replying", On(call, &Echo::Reply), On(back, &Echo::SetBack)};
};

template <size_t kBytes>
class Client final : public Actor {
 public:
  using Body = Letter<kBytes>;
  Mailbox<"ask", int64_t> ask{this};
  Mailbox<"tell", int64_t> tell{this};
  Mailbox<"returned", Body> returned{this};

  Client(Ref<Echo<kBytes>> echo, Finish* finish, bool traces)
      : echo_(echo), finish_(finish), until_trace_(traces ? kTracedOf : std::numeric_limits<int64_t>::max()) {}

  StartResult Start() override {
    SendOrDie(echo_[&Echo<kBytes>::back], context().ChannelTo(returned));
    return playing_;
  }

 private:
  Task<> Ask(int64_t asks) {
    const Channel<Call<Body, Body>> call = echo_[&Echo<kBytes>::call];
    Body body;
    for (int64_t i = 1; i <= asks; ++i) {
      body.words[0] = i;
      const auto asked = call.Ask(body, kAskTimeout);
      const absl::StatusOr<Body> answer = co_await asked;
      UNDERSTUDY_CHECK(answer.ok() && answer->words[0] == i, "a wrong answer: ", answer.status().ToString());
    }
    finish_->Report(asks);
  }
  void Tell(int64_t tells) {
    left_ = tells;
    echo_tell_ = echo_[&Echo<kBytes>::tell];
    SendOrDie(echo_tell_, Body{{left_}});
  }
  void Returned(const Body& body) {
    ++returns_;
    left_ = body.words[0] - 1;
    if (--until_trace_ <= 1) TraceSome();
    if (left_ > 0) {
      SendOrDie(echo_tell_, Body{{left_}});
    } else {
      finish_->Report(returns_);
    }
  }

  // Traces the last of each kTracedOf round trips.
  ABSL_ATTRIBUTE_NOINLINE void TraceSome() {
    if (until_trace_ == 1) {
      (void)context().StartTrace("round trip");
    } else {
      context().EndTrace();
      until_trace_ = kTracedOf;
    }
  }

  const Ref<Echo<kBytes>> echo_;
  Finish* const finish_;
  int64_t until_trace_;  // counted down without traces too, so that the round trips differ by the traces alone
  Channel<Body> echo_tell_;
  int64_t left_ = 0;
  int64_t returns_ = 0;
  Behavior playing_{"playing", On(ask, &Client::Ask), On(tell, &Client::Tell), On(returned, &Client::Returned)};
};

template <size_t kBytes>
int64_t RunRoundTrips(ActorSystem& system, GivingBack how, int64_t round_trips, bool traces = false) {
  Finish finish(system);
  const Ref<Echo<kBytes>> echo = system.Spawn<Echo<kBytes>>(how);
  const Ref<Client<kBytes>> client = system.Spawn<Client<kBytes>>(echo, &finish, traces);
  SendOrDie(how == GivingBack::kByTell ? client[&Client<kBytes>::tell] : client[&Client<kBytes>::ask], round_trips);
  const int64_t done = finish.Await();
  EndActors(system, {echo.pid(), client.pid()});
  return done;
}

// Each actor is spawned, gets one message, sends one message and ends.
template <size_t kBytes>
int64_t RunLives(ActorSystem& system, int64_t actors) {
  (void)ResidentAfterRounds<kBytes>(system, actors, 1);
  return actors;
}

// Returns the number of operations done, or a negative number if there is no such operation.
template <size_t kBytes>
int64_t Run(ActorSystem& system, absl::string_view operation, int64_t count) {
  if (operation == "send" || operation == "receive") return RunBursts<kBytes>(system, Taking::kPlain, count);
  if (operation == "become") return RunBursts<kBytes>(system, Taking::kBecoming, count);
  if (operation == "guard_miss" || operation == "guard_open") {
    return RunBursts<kBytes>(system, Taking::kGuarded, count);
  }
  if (operation == "round_trip") return RunRoundTrips<kBytes>(system, GivingBack::kByTell, count);
  if (operation == "ask") return RunRoundTrips<kBytes>(system, GivingBack::kByResult, count);
  if (operation == "ask_replier") return RunRoundTrips<kBytes>(system, GivingBack::kByReplier, count);
  if (operation == "counting_traced") return RunBursts<kBytes>(system, Taking::kPlain, count, /*traces=*/true);
  if (operation == "trip_traced") {
    return RunRoundTrips<kBytes>(system, GivingBack::kByTell, count, /*traces=*/true);
  }
  if (operation == "spawn") return RunLives<kBytes>(system, count);
  return -1;
}

int CallWrongly(absl::string_view what) {
  std::cerr << "counted: " << what << "\nusage: counted --operation=NAME --bytes=8|80 --operations=N\n"
            << "operations: send receive become guard_miss guard_open round_trip ask ask_replier spawn counting_traced "
            << "trip_traced\n";
  return 2;
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments == std::vector<std::string>{"--build"}) {
    std::cout << kBuildInfo << "\n";
    return 0;
  }
  std::string operation;
  int64_t bytes = 8;
  int64_t count = 0;
  for (absl::string_view argument : arguments) {
    bool known = false;
    if (absl::ConsumePrefix(&argument, "--operation=")) {
      operation = std::string(argument);
      known = true;
    } else if (absl::ConsumePrefix(&argument, "--bytes=")) {
      known = absl::SimpleAtoi(argument, &bytes);
    } else if (absl::ConsumePrefix(&argument, "--operations=")) {
      known = absl::SimpleAtoi(argument, &count);
    }
    if (!known) return CallWrongly(argument);
  }
  if (count <= 0 || (bytes != 8 && bytes != 80)) return CallWrongly("a count above 0, of 8 or 80 bytes");
  SpanRing spans;
  ActorSystemOptions options;
  options.tracing = {.spans = absl::EndsWith(operation, "_traced") ? &spans : nullptr, .sampled_ratio = 1};
  options.threads.threads = 1;
  options.seed = 1;
  ActorSystem system(options);
  const int64_t done = bytes == 8 ? Run<8>(system, operation, count) : Run<80>(system, operation, count);
  if (done < 0) return CallWrongly("no such operation");
  UNDERSTUDY_CHECK(done == count, done, " of ", count, " were done");
  return 0;
}

}  // namespace
}  // namespace understudy::bench

int main(int argc, char** argv) { return understudy::bench::Main(std::vector<std::string>(argv + 1, argv + argc)); }

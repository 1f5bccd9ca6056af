// Understudy between two nodes: the server has an echo actor for each pair and a counter.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "google/protobuf/wrappers.pb.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/tests/bench/remote/remote_run.h"
#include "understudy/transport/node.h"

namespace understudy::bench {
namespace {

using Bytes = google::protobuf::BytesValue;
using Number = google::protobuf::Int64Value;

constexpr absl::Duration kPatience = absl::Seconds(30);
// A sender whose channel is full tries again after so long: about the time of a round trip.
constexpr absl::Duration kFullPause = absl::Microseconds(200);

Bytes Payload() {
  Bytes bytes;
  bytes.set_value(std::string(kRemoteMessageBytes, 'x'));
  return bytes;
}

std::string PlayerName(int64_t pair) { return absl::StrCat("client/player-", pair); }
std::string EchoName(int64_t pair) { return absl::StrCat("server/echo-", pair); }
constexpr char kCounterName[] = "server/counter";

class Player : public Actor {
 public:
  Mailbox<"pong", Bytes> pong{this};
};

// Sends each ping back to its player, and answers each ask.
class Echo final : public Actor {
 public:
  Mailbox<"meet", Call<Number, Number>> meet{this};
  Mailbox<"ping", Bytes> ping{this};
  Mailbox<"ask", Call<Bytes, Bytes>> ask{this};

  explicit Echo(int64_t pair) : pair_(pair) {}
  Next Start() override { return Begin(); }

 private:
  Task<Next> Begin() {
    auto published = context().Publish(EchoName(pair_));
    const absl::Status status = co_await published;
    if (!status.ok()) co_return status;
    co_return echoing_;
  }
  Task<absl::StatusOr<Number>> Meet(Number number) {
    auto found = context().Lookup<Ref<Player>>(PlayerName(pair_), kPatience);
    const absl::StatusOr<Ref<Player>> player = co_await found;
    if (!player.ok()) co_return player.status();
    player_ = *player;
    co_return number;
  }
  void Ping(const Bytes& bytes) { player_[&Player::pong].Tell(bytes); }
  Bytes Ask(const Bytes& bytes) { return bytes; }

  const int64_t pair_;
  Ref<Player> player_;
  Behavior echoing_{"echoing", On(meet, &Echo::Meet), On(ping, &Echo::Ping), On(ask, &Echo::Ask)};
};

// Counts what senders send; answers when it has so much.
class Counter final : public Actor {
 public:
  Mailbox<"expect", Call<Number, Number>> expect{this};
  Mailbox<"item", Bytes> item{this, {.capacity_messages = 100'000}};

  Next Start() override { return Begin(); }

 private:
  Task<Next> Begin() {
    auto published = context().Publish(kCounterName);
    const absl::Status status = co_await published;
    if (!status.ok()) co_return status;
    co_return counting_;
  }
  void Expect(const Number& number, Replier<Number> reply) {
    expected_ = number.value();
    waiting_ = std::move(reply);
    Look();
  }
  void Item(const Bytes& bytes) {
    seen_ += bytes.value().size() == kRemoteMessageBytes ? 1 : 0;
    if (seen_ == expected_) Look();
  }
  void Look() {
    if (seen_ < expected_ || !waiting_.has_value()) return;
    Number number;
    number.set_value(seen_);
    std::move(*waiting_).Reply(number);
    waiting_.reset();
    seen_ = 0;
    expected_ = -1;
  }

  int64_t seen_ = 0;
  int64_t expected_ = -1;
  absl::optional<Replier<Number>> waiting_;
  Behavior counting_{"counting", On(expect, &Counter::Expect), On(item, &Counter::Item)};
};

class PingPlayer final : public Player {
 public:
  Mailbox<"begin", Number> begin{this};

  PingPlayer(int64_t pair, absl::BlockingCounter* ready, absl::BlockingCounter* done)
      : pair_(pair), ready_(ready), done_(done) {}
  Next Start() override { return Begin(); }

 private:
  Task<Next> Begin() {
    auto published = context().Publish(PlayerName(pair_));
    const absl::Status status = co_await published;
    UNDERSTUDY_CHECK(status.ok(), status.ToString());
    auto found = context().Lookup<Ref<Echo>>(EchoName(pair_), kPatience);
    const absl::StatusOr<Ref<Echo>> echo = co_await found;
    UNDERSTUDY_CHECK(echo.ok(), echo.status().ToString());
    echo_ = *echo;
    auto met = echo_[&Echo::meet].Ask(Number(), kPatience);
    const absl::StatusOr<Number> meeting = co_await met;
    UNDERSTUDY_CHECK(meeting.ok(), meeting.status().ToString());
    ready_->DecrementCount();
    co_return playing_;
  }
  void Play(const Number& rounds) {
    left_ = rounds.value();
    echo_[&Echo::ping].Tell(payload_);
  }
  void Pong(const Bytes&) {
    if (--left_ == 0) {
      done_->DecrementCount();
    } else {
      echo_[&Echo::ping].Tell(payload_);
    }
  }

  const int64_t pair_;
  absl::BlockingCounter* const ready_;
  absl::BlockingCounter* const done_;
  const Bytes payload_ = Payload();
  Ref<Echo> echo_;
  int64_t left_ = 0;
  Behavior playing_{"playing", On(begin, &PingPlayer::Play), On(pong, &PingPlayer::Pong)};
};

// Asks with a pause after each answer.
class Asker final : public Actor {
 public:
  Asker(int64_t asks, RemoteMeasurement* measured, absl::Notification* done)
      : asks_(asks), measured_(measured), done_(done) {}
  Next Start() override { return Run(); }

 private:
  Task<> Run() {
    auto found = context().Lookup<Ref<Echo>>(EchoName(0), kPatience);
    const absl::StatusOr<Ref<Echo>> echo = co_await found;
    UNDERSTUDY_CHECK(echo.ok(), echo.status().ToString());
    for (int64_t i = 0; i < asks_; ++i) {
      const int64_t began = NowNanos();
      const auto asked = (*echo)[&Echo::ask].Ask(payload_, kPatience);
      const absl::StatusOr<Bytes> answer = co_await asked;
      UNDERSTUDY_CHECK(answer.ok(), answer.status().ToString());
      measured_->latencies.push_back(absl::Nanoseconds(NowNanos() - began));
      auto paused = Receive(After(kRemoteAskPause, [] {}));
      co_await paused;
    }
    measured_->count = asks_;
    done_->Notify();
  }

  const int64_t asks_;
  RemoteMeasurement* const measured_;
  absl::Notification* const done_;
  const Bytes payload_ = Payload();
};

// Sends as fast as its channel takes messages.
class Sender final : public Actor {
 public:
  Sender(Ref<Counter> counter, int64_t messages) : counter_(counter), messages_(messages) {}
  Next Start() override { return Run(); }

 private:
  Task<> Run() {
    const Channel<Bytes> item = counter_[&Counter::item];
    for (int64_t sent = 0; sent < messages_;) {
      const absl::Status status = item.Send(payload_);
      if (status.ok()) {
        ++sent;
        continue;
      }
      UNDERSTUDY_CHECK(IsFull(status), status.ToString());
      auto paused = Receive(After(kFullPause, [] {}));
      co_await paused;
    }
  }

  const Ref<Counter> counter_;
  const int64_t messages_;
  const Bytes payload_ = Payload();
};

// Finds the counter, for the plain thread.
class Finder final : public Actor {
 public:
  Finder(Ref<Counter>* counter, absl::Notification* done) : counter_(counter), done_(done) {}
  Next Start() override { return Run(); }

 private:
  Task<> Run() {
    auto found = context().Lookup<Ref<Counter>>(kCounterName, kPatience);
    const absl::StatusOr<Ref<Counter>> counter = co_await found;
    UNDERSTUDY_CHECK(counter.ok(), counter.status().ToString());
    *counter_ = *counter;
    done_->Notify();
  }

  Ref<Counter>* const counter_;
  absl::Notification* const done_;
};

RemoteMeasurement RoundTrips(ActorSystem& system, const RemoteRun& run) {
  absl::BlockingCounter ready(run.pairs);
  absl::BlockingCounter done(run.pairs);
  std::vector<Ref<PingPlayer>> players;
  for (int pair = 0; pair < run.pairs; ++pair) players.push_back(system.Spawn<PingPlayer>(pair, &ready, &done));
  ready.Wait();
  Number rounds;
  rounds.set_value(run.operations / run.pairs);
  const int64_t began = NowNanos();
  for (const Ref<PingPlayer>& player : players) player[&PingPlayer::begin].Tell(rounds);
  done.Wait();
  return {.count = run.operations, .seconds = static_cast<double>(NowNanos() - began) / 1e9};
}

RemoteMeasurement Asks(ActorSystem& system, const RemoteRun& run) {
  RemoteMeasurement measured;
  absl::Notification done;
  const int64_t began = NowNanos();
  system.Spawn<Asker>(run.operations, &measured, &done);
  done.WaitForNotification();
  measured.seconds = static_cast<double>(NowNanos() - began) / 1e9;
  return measured;
}

RemoteMeasurement OneWay(ActorSystem& system, const RemoteRun& run) {
  Ref<Counter> counter;
  absl::Notification found;
  system.Spawn<Finder>(&counter, &found);
  found.WaitForNotification();
  const int64_t began = NowNanos();
  for (int i = 0; i < run.pairs; ++i) system.Spawn<Sender>(counter, run.operations / run.pairs);
  Number expected;
  expected.set_value(run.operations);
  const absl::StatusOr<Number> seen = system.Ask(counter[&Counter::expect], expected, absl::Minutes(2));
  UNDERSTUDY_CHECK(seen.ok(), seen.status().ToString());
  return {.count = seen->value(), .seconds = static_cast<double>(NowNanos() - began) / 1e9};
}

}  // namespace

void ServeUnderstudy(const std::string& address, const RemoteReady& ready, const RemoteEnded& ended) {
  ActorSystem system({.name = "server"});
  const absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system, {.listen = address});
  UNDERSTUDY_CHECK(node.ok(), node.status().ToString());
  for (int pair = 0; pair < kRemotePairsMax; ++pair) system.Spawn<Echo>(pair);
  system.Spawn<Counter>();
  ready((*node)->address());
  ended();
}

RemoteMeasurement MeasureUnderstudy(const RemoteRun& run) {
  ActorSystem system({.name = "client"});
  const absl::StatusOr<std::unique_ptr<Node>> node =
      Node::Start(system, {.listen = "", .peers = {{"server", run.address}}});
  UNDERSTUDY_CHECK(node.ok(), node.status().ToString());
  switch (run.kind) {
    case RemoteRun::Kind::kRoundTrip:
      return RoundTrips(system, run);
    case RemoteRun::Kind::kAsk:
      return Asks(system, run);
    case RemoteRun::Kind::kOneWay:
      return OneWay(system, run);
  }
  return {};
}

}  // namespace understudy::bench

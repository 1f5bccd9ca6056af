// Understudy between nodes: each server has an echo actor for each pair and a counter.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
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
#include "understudy/transport/credentials.h"
#include "understudy/transport/node.h"

namespace understudy::bench {
namespace {

using Bytes = google::protobuf::BytesValue;
using Number = google::protobuf::Int64Value;

constexpr absl::Duration kPatience = absl::Seconds(30);
// How long a sender whose channel is full waits before it tries again: about the time of a round trip.
constexpr absl::Duration kFullPause = absl::Microseconds(200);
// This long after the connections to all peers are up, the messages about names have been acknowledged.
constexpr absl::Duration kSettle = absl::Seconds(1);

Bytes Payload() {
  Bytes bytes;
  bytes.set_value(std::string(kRemoteMessageBytes, 'x'));
  return bytes;
}

std::string PlayerName(int64_t pair) { return absl::StrCat(kClientName, "/player-", pair); }
std::string EchoName(absl::string_view server, int64_t pair) { return absl::StrCat(server, "/echo-", pair); }
std::string CounterName(absl::string_view server) { return absl::StrCat(server, "/counter"); }

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

  Echo(std::string server, int64_t pair) : server_(std::move(server)), pair_(pair) {}
  StartResult Start() override { return Begin(); }

 private:
  Task<StartResult> Begin() {
    auto published = context().Publish(EchoName(server_, pair_));
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

  const std::string server_;
  const int64_t pair_;
  Ref<Player> player_;
  Behavior echoing_{"echoing", On(meet, &Echo::Meet), On(ping, &Echo::Ping), On(ask, &Echo::Ask)};
};

// Counts the messages of the senders; answers `expect` when it has that many.
class Counter final : public Actor {
 public:
  Mailbox<"expect", Call<Number, Number>> expect{this};
  Mailbox<"item", Bytes> item{this, {.capacity_messages = 100'000}};

  explicit Counter(std::string server) : server_(std::move(server)) {}
  StartResult Start() override { return Begin(); }

 private:
  Task<StartResult> Begin() {
    auto published = context().Publish(CounterName(server_));
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

  const std::string server_;
  int64_t seen_ = 0;
  int64_t expected_ = -1;
  absl::optional<Replier<Number>> waiting_;
  Behavior counting_{"counting", On(expect, &Counter::Expect), On(item, &Counter::Item)};
};

class PingPlayer final : public Player {
 public:
  Mailbox<"begin", Number> begin{this};

  PingPlayer(std::string server, int64_t pair, absl::BlockingCounter* ready, absl::BlockingCounter* done)
      : server_(std::move(server)), pair_(pair), ready_(ready), done_(done) {}
  StartResult Start() override { return Begin(); }

 private:
  Task<StartResult> Begin() {
    auto published = context().Publish(PlayerName(pair_));
    const absl::Status status = co_await published;
    UNDERSTUDY_CHECK(status.ok(), status.ToString());
    auto found = context().Lookup<Ref<Echo>>(EchoName(server_, pair_), kPatience);
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

  const std::string server_;
  const int64_t pair_;
  absl::BlockingCounter* const ready_;
  absl::BlockingCounter* const done_;
  const Bytes payload_ = Payload();
  Ref<Echo> echo_;
  int64_t left_ = 0;
  Behavior playing_{"playing", On(begin, &PingPlayer::Play), On(pong, &PingPlayer::Pong)};
};

// Asks, and pauses after each answer.
class Asker final : public Actor {
 public:
  Asker(int64_t asks, RemoteMeasurement* measured, absl::Notification* done)
      : asks_(asks), measured_(measured), done_(done) {}
  StartResult Start() override { return Run(); }

 private:
  Task<> Run() {
    auto found = context().Lookup<Ref<Echo>>(EchoName(ServerName(0), 0), kPatience);
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
  StartResult Start() override { return Run(); }

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

// Looks up the counter of a server, for the plain thread.
class Finder final : public Actor {
 public:
  Finder(std::string server, Ref<Counter>* counter, absl::BlockingCounter* done)
      : server_(std::move(server)), counter_(counter), done_(done) {}
  StartResult Start() override { return Run(); }

 private:
  Task<> Run() {
    auto found = context().Lookup<Ref<Counter>>(CounterName(server_), kPatience);
    const absl::StatusOr<Ref<Counter>> counter = co_await found;
    UNDERSTUDY_CHECK(counter.ok(), counter.status().ToString());
    *counter_ = *counter;
    done_->DecrementCount();
  }

  const std::string server_;
  Ref<Counter>* const counter_;
  absl::BlockingCounter* const done_;
};

// Returns the counters of all servers. Afterwards this node is connected to each server.
std::vector<Ref<Counter>> Counters(ActorSystem& system, const RemoteRun& run) {
  std::vector<Ref<Counter>> counters(run.servers.size());
  absl::BlockingCounter found(static_cast<int>(counters.size()));
  for (size_t i = 0; i < counters.size(); ++i) {
    system.Spawn<Finder>(ServerName(static_cast<int64_t>(i)), &counters[i], &found);
  }
  found.Wait();
  return counters;
}

RemoteMeasurement RoundTrips(ActorSystem& system, const RemoteRun& run) {
  absl::BlockingCounter ready(run.pairs);
  absl::BlockingCounter done(run.pairs);
  std::vector<Ref<PingPlayer>> players;
  for (int pair = 0; pair < run.pairs; ++pair) {
    const std::string server = ServerName(pair % static_cast<int64_t>(run.servers.size()));
    players.push_back(system.Spawn<PingPlayer>(server, pair, &ready, &done));
  }
  ready.Wait();
  Number rounds;
  rounds.set_value(run.operations / run.pairs);
  const RemoteStopwatch stopwatch;
  for (const Ref<PingPlayer>& player : players) player[&PingPlayer::begin].Tell(rounds);
  done.Wait();
  return stopwatch.Measured(run.operations);
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
  const std::vector<Ref<Counter>> counters = Counters(system, run);
  const RemoteStopwatch stopwatch;
  for (int i = 0; i < run.pairs; ++i) {
    system.Spawn<Sender>(counters[i % counters.size()], run.operations / run.pairs);
  }
  Number expected;
  expected.set_value(run.operations / static_cast<int64_t>(counters.size()));
  int64_t count = 0;
  for (const Ref<Counter>& counter : counters) {
    const absl::StatusOr<Number> seen = system.Ask(counter[&Counter::expect], expected, absl::Minutes(2));
    UNDERSTUDY_CHECK(seen.ok(), seen.status().ToString());
    count += seen->value();
  }
  return stopwatch.Measured(count);
}

// Measures which share of a core this node takes, and which share a peer takes on average, while nothing is sent.
RemoteMeasurement Idle(ActorSystem& system, const RemoteRun& run) {
  const std::vector<Ref<Counter>> counters = Counters(system, run);
  RemotePause(kSettle);
  const auto peers_seconds = [&run] {
    double seconds = 0;
    for (const RemoteServer& server : run.servers) seconds += CpuSeconds(server.pid);
    return seconds / static_cast<double>(run.servers.size());
  };
  const double own_before = CpuSeconds(getpid());
  const double peers_before = peers_seconds();
  const int64_t began = NowNanos();
  RemotePause(absl::Milliseconds(run.operations));
  const double seconds = static_cast<double>(NowNanos() - began) / 1e9;
  return {.count = run.operations,
          .seconds = seconds,
          .figures = {{"cpu_percent", 100 * (CpuSeconds(getpid()) - own_before) / seconds},
                      {"peer_cpu_percent", 100 * (peers_seconds() - peers_before) / seconds}}};
}

Credentials NodeCredentials(const std::string& certificates, absl::string_view node) {
  if (certificates.empty()) return Credentials::Insecure();
  return Credentials::Tls({.certificate_file = absl::StrCat(certificates, "/", node, ".pem"),
                           .key_file = absl::StrCat(certificates, "/", node, ".key"),
                           .ca_file = absl::StrCat(certificates, "/ca.pem")});
}

}  // namespace

void ServeUnderstudy(const RemoteServe& serve, const RemoteReady& ready, const RemoteEnded& ended) {
  ActorSystem system({.name = serve.node});
  const absl::StatusOr<std::unique_ptr<Node>> node =
      Node::Start(system, {.listen = serve.address, .credentials = NodeCredentials(serve.certificates, serve.node)});
  UNDERSTUDY_CHECK(node.ok(), node.status().ToString());
  for (int pair = 0; pair < kRemotePairsMax; ++pair) system.Spawn<Echo>(serve.node, pair);
  system.Spawn<Counter>(serve.node);
  ready((*node)->address());
  ended();
}

RemoteMeasurement MeasureUnderstudy(const RemoteRun& run) {
  ActorSystem system({.name = kClientName});
  NodeOptions options = {.listen = "", .credentials = NodeCredentials(run.certificates, kClientName)};
  for (size_t i = 0; i < run.servers.size(); ++i) {
    options.peers[ServerName(static_cast<int64_t>(i))] = run.servers[i].address;
  }
  const absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system, std::move(options));
  UNDERSTUDY_CHECK(node.ok(), node.status().ToString());
  switch (run.kind) {
    case RemoteRun::Kind::kRoundTrip:
      return RoundTrips(system, run);
    case RemoteRun::Kind::kAsk:
      return Asks(system, run);
    case RemoteRun::Kind::kOneWay:
      return OneWay(system, run);
    case RemoteRun::Kind::kIdle:
      return Idle(system, run);
    case RemoteRun::Kind::kHandshake:
    case RemoteRun::Kind::kSilent:
    case RemoteRun::Kind::kHello:
      break;
  }
  UNDERSTUDY_CHECK(false, "MeasureConnections does this");
  return {};
}

}  // namespace understudy::bench

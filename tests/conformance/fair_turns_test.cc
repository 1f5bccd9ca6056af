// Rows about fair scheduling of actors that share one worker. The tests count messages and do not measure time.
#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/testing/sanitized.h"

namespace understudy {
namespace {

constexpr int64_t kTurn = limits::kMessagesPerTurnMax;

ActorSystemOptions OneWorker() {
  ActorSystemOptions options;
  options.threads.threads = 1;
  options.threads.take_over_after = absl::Hours(1);  // a handler that waits for its test must keep the worker
  options.log = &LogSink::Null();
  return options;
}

// The worker writes these counts, and the test reads them after its system has been destroyed.
struct Shares {
  static constexpr int64_t kRounds = 50;
  std::array<int64_t, 100> handled{};
  const int64_t all_max = kRounds * kTurn * static_cast<int64_t>(handled.size());
  int64_t all = 0;
  int64_t newcomer_made = -1;
  int64_t newcomer_began = -1;
  absl::Notification over;
};

class Newcomer final : public Actor {
 public:
  explicit Newcomer(Shares* shares) : shares_(*shares) {}
  StartResult Start() override {
    shares_.newcomer_began = shares_.all;
    return waiting_;
  }

 private:
  Mailbox<"unused", int> unused_{this};
  Shares& shares_;
  Behavior waiting_{"waiting", On(unused_, [] {})};
};

// An actor that always has one more message queued, sent by itself.
class Busy final : public Actor {
 public:
  Busy(Shares* shares, size_t number) : shares_(*shares), number_(number) {}
  StartResult Start() override {
    context().Tell(spin_, 1);
    return spinning_;
  }

 private:
  void Spin(int /*n*/) {
    if (shares_.all == shares_.all_max) return;
    ++shares_.handled[number_];
    ++shares_.all;
    if (shares_.all == shares_.all_max / 2) {
      shares_.newcomer_made = shares_.all;
      context().Spawn<Newcomer>(&shares_);
    }
    if (shares_.all == shares_.all_max) shares_.over.Notify();
    context().Tell(spin_, 1);
  }
  Shares& shares_;
  const size_t number_;
  Mailbox<"spin", int> spin_{this};
  Behavior spinning_{"spinning", On(spin_, &Busy::Spin)};
};

// Spawns all busy actors in one turn.
class Opening final : public Actor {
 public:
  explicit Opening(Shares* shares) : shares_(*shares) {}
  StartResult Start() override {
    for (size_t i = 0; i < shares_.handled.size(); ++i) context().Spawn<Busy>(&shares_, i);
    return waiting_;
  }

 private:
  Mailbox<"unused", int> unused_{this};
  Shares& shares_;
  Behavior waiting_{"waiting", On(unused_, [] {})};
};

// RPP 28
TEST(FairTurnsTest, AHundredBusyActorsGetEqualSharesAndANewOneRunsWithinARound) {
  Shares shares;
  {
    ActorSystem system(OneWorker());
    system.Spawn<Opening>(&shares);
    shares.over.WaitForNotification();
  }
  const auto [least, most] = std::minmax_element(shares.handled.begin(), shares.handled.end());
  EXPECT_LE(*most - *least, 2 * kTurn) << "of " << shares.all_max / static_cast<int64_t>(shares.handled.size());
  ASSERT_GE(shares.newcomer_began, 0);
  EXPECT_LE(shares.newcomer_began - shares.newcomer_made, kTurn * static_cast<int64_t>(shares.handled.size() + 1));
}

// The points at which an actor with a very long queue tells other actors, and the counts at which they heard.
struct Flood {
  static constexpr int64_t kMessages = kIsSanitized ? 100'000 : 1'000'000;
  static constexpr int64_t kTellsAt = kMessages / 4;  // tells the actor `near`, from its own handler
  static constexpr int64_t kWaitsAt = kMessages / 2;  // waits until the test has told the actor `far`
  int64_t handled = 0;
  int64_t near_heard = -1;
  int64_t far_heard = -1;
  absl::Notification is_held;
  absl::Notification is_filled;
  absl::Notification waits;
  absl::Notification told;
  absl::Notification over;
};

class Hearing final : public Actor {
 public:
  Mailbox<"hear", int64_t*> hear{this};
  explicit Hearing(const Flood* flood) : flood_(*flood) {}
  StartResult Start() override { return hearing_; }

 private:
  const Flood& flood_;
  Behavior hearing_{"hearing", On(hear, [this](int64_t* at) { *at = flood_.handled; })};
};

class Flooded final : public Actor {
 public:
  Mailbox<"fill", int> fill{this};
  Mailbox<"item", int> item{this, {.capacity_messages = Flood::kMessages}};
  Flooded(Flood* flood, Ref<Hearing> near) : flood_(*flood), near_(near) {}
  StartResult Start() override { return handling_; }

 private:
  // Blocks the worker until all items are queued here.
  void Fill() {
    flood_.is_held.Notify();
    flood_.is_filled.WaitForNotification();
  }
  void Item() {
    ++flood_.handled;
    if (flood_.handled == Flood::kTellsAt) near_[&Hearing::hear].Tell(&flood_.near_heard);
    if (flood_.handled == Flood::kWaitsAt) {
      flood_.waits.Notify();
      flood_.told.WaitForNotification();
    }
    if (flood_.handled == Flood::kMessages) flood_.over.Notify();
  }
  Flood& flood_;
  const Ref<Hearing> near_;
  Behavior handling_{"handling", On(fill, &Flooded::Fill), On(item, &Flooded::Item)};
};

// PONY 27: The other actor is told once by an actor on the same worker, and once by a thread outside actors.
TEST(FairTurnsTest, AnActorWithAMillionMessagesHoldsAnotherUpForAtMostThreeTurns) {
  Flood flood;
  {
    ActorSystem system(OneWorker());
    const Ref<Hearing> near = system.Spawn<Hearing>(&flood);
    const Ref<Hearing> far = system.Spawn<Hearing>(&flood);
    const Ref<Flooded> flooded = system.Spawn<Flooded>(&flood, near);
    flooded[&Flooded::fill].Tell(1);
    flood.is_held.WaitForNotification();
    for (int i = 0; i < Flood::kMessages; ++i) ASSERT_TRUE(flooded[&Flooded::item].Send(i).ok());
    flood.is_filled.Notify();
    flood.waits.WaitForNotification();
    far[&Hearing::hear].Tell(&flood.far_heard);
    flood.told.Notify();
    flood.over.WaitForNotification();
  }
  ASSERT_GE(flood.near_heard, Flood::kTellsAt);
  EXPECT_LE(flood.near_heard - Flood::kTellsAt, 3 * kTurn);
  ASSERT_GE(flood.far_heard, Flood::kWaitsAt);
  EXPECT_LE(flood.far_heard - Flood::kWaitsAt, 3 * kTurn);
}

}  // namespace
}  // namespace understudy

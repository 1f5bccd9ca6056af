// Messages that throw while they are moved, copied or measured.
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/memory/block_pool.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/unhandled_mail.h"
#include "understudy/tests/actors/script.h"

#if defined(__cpp_exceptions)
namespace understudy {
namespace {

using ::testing::ElementsAre;

class SendThrowsTest : public ActorTest {};

// A message whose copy constructor or MessageBytes throws.
struct Brittle {
  enum class Breaks { kNever, kCopied, kMeasured };
  explicit Brittle(Breaks how) : breaks(how) {}
  Brittle(const Brittle& other) : breaks(other.breaks) {
    if (breaks == Breaks::kCopied) throw std::runtime_error("copy");
  }
  Brittle(Brittle&&) = default;
  Breaks breaks;
};
size_t MessageBytes(const Brittle& brittle) {
  if (brittle.breaks == Brittle::Breaks::kMeasured) throw std::runtime_error("size");
  return 1;
}

// Each has one place.
class Narrow final : public Actor {
 public:
  Mailbox<"plain", Brittle> plain{this, {.capacity_messages = 1}};
  Mailbox<"timed", Brittle> timed{this, {.capacity_messages = 1, .time_to_live = absl::Hours(1)}};
  Mailbox<"sized", Brittle> sized{this, {.capacity_messages = 1, .capacity_bytes = 1}};
  StartResult Start() override { return idle_; }

 private:
  Behavior idle_{"idle", On(plain, [] {}), On(timed, [] {}), On(sized, [] {})};
};

TEST_F(SendThrowsTest, ASendThatThrowsTakesNoPlace) {
  // semantics 1.6
  using Breaks = Brittle::Breaks;
  Ref<Narrow> narrow = system().Spawn<Narrow>();
  system().RunUntilIdle();
  const auto send = [narrow] {
    for (const auto mailbox : {narrow[&Narrow::plain], narrow[&Narrow::timed], narrow[&Narrow::sized]}) {
      const Brittle uncopied(Breaks::kCopied);
      for (int i = 0; i < 3; ++i) EXPECT_THROW((void)mailbox.Send(uncopied), std::runtime_error);
      EXPECT_TRUE(mailbox.Send(Brittle(Breaks::kNever)).ok()) << mailbox;
    }
  };
  send();
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().accepted, 3);
  Do(system().Spawn<Script>(), [&send](Script&) { send(); });
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().accepted, 7) << "Script's step too";
  EXPECT_THROW((void)narrow[&Narrow::sized].Send(Brittle(Breaks::kMeasured)), std::runtime_error);
  EXPECT_TRUE(narrow[&Narrow::sized].Send(Brittle(Breaks::kNever)).ok());
  system().RunUntilIdle();
}

TEST_F(SendThrowsTest, AnEarlySendThatThrowsTakesNoPlace) {
  Ref<Narrow> narrow = system().Spawn<Narrow>();
  const Brittle uncopied(Brittle::Breaks::kCopied);
  EXPECT_THROW((void)narrow[&Narrow::plain].Send(uncopied), std::runtime_error);
  EXPECT_EQ(Ledger().waiting, 0) << "nothing is held";
  system().RunUntilIdle();
}

// A message whose move constructor throws if `breaks` is set.
struct Fragile {
  explicit Fragile(bool it_breaks) : breaks(it_breaks) {}
  Fragile(Fragile&& other) : breaks(other.breaks) {  // NOLINT(performance-noexcept-move-constructor)
    if (breaks) throw std::runtime_error("move");
  }
  bool breaks;
};

class Glass final : public Actor {
 public:
  Mailbox<"plain", Fragile> plain{this, {.capacity_messages = 1}};
  Mailbox<"timed", Fragile> timed{this, {.capacity_messages = 1, .time_to_live = absl::Hours(1)}};
  StartResult Start() override { return idle_; }

 private:
  Behavior idle_{"idle", On(plain, [] {}), On(timed, [] {})};
};

TEST_F(SendThrowsTest, ASendWhoseMoveThrowsTakesNoPlaceAndLeaksNothing) {
  Ref<Glass> shelf = system().Spawn<Glass>();
  const auto next_block = [] {
    void* const block = internal::AllocateBlock(1);
    internal::FreeBlock(block, 1);
    return block;
  };
  for (const bool is_early : {true, false}) {
    if (!is_early) system().RunUntilIdle();
    for (const auto mailbox : {shelf[&Glass::plain], shelf[&Glass::timed]}) {
      void* const before = next_block();
      for (int i = 0; i < 3; ++i) EXPECT_THROW((void)mailbox.Send(Fragile(true)), std::runtime_error);
      if (internal::kPoolsBlocks) {
        EXPECT_EQ(next_block(), before) << "each block came back";
      }
      EXPECT_TRUE(mailbox.Send(Fragile(false)).ok()) << mailbox;
    }
  }
  system().RunUntilIdle();
}

// On the sender's thread, while the mailboxes are not known.
// Moves as often as it may.
struct Tiring {
  explicit Tiring(int moves) : moves_left(moves) {}
  Tiring(Tiring&& other) : moves_left(other.moves_left - 1) {  // NOLINT: it throws
    if (moves_left < 0) throw std::runtime_error("too tired to move");
  }
  int moves_left;
};

class Host final : public Actor {
 public:
  Mailbox<"take", Call<Tiring, int>> take{this};
  StartResult Start() override { return hosting_; }

 private:
  Behavior hosting_{"hosting", On(take, [](const Tiring& tiring) { return tiring.moves_left; })};
};

TEST_F(SendThrowsTest, AnAskOfAPlainThreadEndsWhereverItsRequestThrows) {
  int answered = 0;
  int refused = 0;
  int thrown = 0;
  for (int moves = 0; moves < 12; ++moves) {
    Ref<Host> host = system().Spawn<Host>();
    system().RunUntilIdle();
    try {
      ++(system().Ask(host[&Host::take], Tiring(moves), absl::Hours(1)).ok() ? answered : refused);
    } catch (const std::runtime_error&) {
      ++thrown;
    }
  }
  EXPECT_GT(answered, 0);
  EXPECT_GT(refused, 0) << "in the actor that asks";
  EXPECT_GT(thrown, 0) << "on this thread";
}

TEST_F(SendThrowsTest, AnEarlySendWhoseSizeThrowsTakesNoPlace) {
  Ref<Narrow> narrow = system().Spawn<Narrow>();
  EXPECT_THROW((void)narrow[&Narrow::sized].Send(Brittle(Brittle::Breaks::kMeasured)), std::runtime_error);
  EXPECT_TRUE(narrow[&Narrow::sized].Send(Brittle(Brittle::Breaks::kNever)).ok());
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().of(Disposition::kHandled), 1);
}

// Each move is one less; then it throws.
struct Worn {
  explicit Worn(int moves) : moves_left(moves) {}
  Worn(Worn&& other) : moves_left(other.moves_left - 1) {  // NOLINT(performance-noexcept-move-constructor)
    if (moves_left < 0) throw std::runtime_error("move");
  }
  int moves_left;
};
size_t MessageBytes(const Worn& worn) {
  if (worn.moves_left > 100) throw std::runtime_error("size");
  return 1;
}

class Narrows final : public Actor {
 public:
  Mailbox<"worn", Worn> worn{this, {.capacity_messages = 1, .capacity_bytes = 100}};
  StartResult Start() override { return taking_; }

 private:
  Behavior taking_{"taking", On(worn, [](const Worn&) {})};
};

// Sends one that needs no room, then one that waits for some.
class Patient final : public Actor {
 public:
  Mailbox<"go", int> go{this};
  Patient(Channel<Worn> to, std::vector<std::string>* came_to) : to_(to), came_to_(*came_to) {}
  StartResult Start() override { return sending_; }

 private:
  Task<> Go(int moves) {
    EXPECT_TRUE(to_.Send(Worn(10)).ok());
    auto sending = to_.SendWhenRoom(Worn(moves), absl::Hours(1));
    try {
      const absl::Status sent = co_await sending;
      came_to_.emplace_back(sent.ok() ? "sent" : sent.message());
    } catch (const std::runtime_error& thrown) {
      came_to_.emplace_back(thrown.what());
    }
  }
  const Channel<Worn> to_;
  std::vector<std::string>& came_to_;
  Behavior sending_{"sending", On(go, &Patient::Go)};
};

// Two moves bring it to where it waits, one into the block in which it is sent.
TEST_F(SendThrowsTest, AMessageThatWaitsForRoomThrowsBeforeItWaitsOrNotAtAll) {
  const Ref<Narrows> narrow = system().Spawn<Narrows>();
  system().RunUntilIdle();
  std::vector<std::string> came_to;
  for (const int moves : {3, 2, 1000}) {
    const Ref<Patient> patient = system().Spawn<Patient>(narrow[&Narrows::worn], &came_to);
    patient[&Patient::go].Tell(moves);
    system().RunUntilIdle();
  }
  EXPECT_THAT(came_to, ElementsAre("sent", "move", "size"));
  EXPECT_EQ(Ledger().accepted, 3 + 3 + 1) << "three are told to go";
}

// Forwards a message whose size must be measured, because the target is bounded in bytes.
class Weighing final : public Actor {
 public:
  Mailbox<"in", int> in{this};
  Mailbox<"sized", Brittle> sized{this, {.capacity_messages = 1, .capacity_bytes = 1}};
  StartResult Start() override { return weighing_; }

 private:
  void In(int /*n*/) { context().Forward(sized, Brittle(Brittle::Breaks::kMeasured)); }
  Behavior weighing_{"weighing", On(in, &Weighing::In), On(sized, [] {})};
};

TEST_F(SendThrowsTest, AMessageThatIsForwardedAndWhoseSizeThrowsFailsItsActor) {
  Ref<Weighing> weighing = system().Spawn<Weighing>();
  EXPECT_EQ(EndOf(weighing.pid(), [&] { weighing[&Weighing::in].Tell(1); }).kind(), ExitReason::Kind::kException);
  EXPECT_EQ(Ledger().of(Disposition::kFailed), 1);
}

// An actor whose waiting messages are kept for its successor.
template <class M>
class Keeping final : public Actor {
 public:
  Mailbox<"kept", M> kept;
  explicit Keeping(size_t capacity_bytes)
      : kept(this, {.capacity_bytes = capacity_bytes, .on_restart = OnRestart::kKeep}) {}
  StartResult Start() override {
    return Behavior("keeping", After(absl::Hours(1), [] {}));
  }
};

// A parent of one after the other that keeps.
template <class M>
class KeepingParent {
 public:
  explicit KeepingParent(TestSystem& system) : system_(system), script_(system.Spawn<Script>()) {}

  Ref<Keeping<M>> Spawn(size_t capacity_bytes, UnhandledMail unhandled_mail) {
    Ref<Keeping<M>> keeping;
    Do(script_, [&](Script& self) {
      self.context().TrapExits([](const ExitEvent&) {});
      keeping = self.context().Spawn<Keeping<M>>(SpawnOptions()
                                                     .OnDown([this](Down down) { downs.push_back(std::move(down)); })
                                                     .WithUnhandledMail(std::move(unhandled_mail)),
                                                 capacity_bytes);
    });
    system_.RunUntilIdle();
    return keeping;
  }
  // The successor of one that has left `first` and `second`.
  void SpawnSuccessorTo(M first, M second) {
    const Ref<Keeping<M>> left = Spawn(SIZE_MAX, UnhandledMail());
    EXPECT_TRUE(left[&Keeping<M>::kept].Send(std::move(first)).ok()) << "nobody measures it";
    EXPECT_TRUE(left[&Keeping<M>::kept].Send(std::move(second)).ok());
    system_.Kill(left.pid());
    system_.RunUntilIdle();
    ASSERT_EQ(downs.size(), 1U);
    EXPECT_EQ(downs[0].unhandled_mail.size(), 2U);
    Spawn(1000, std::move(downs[0].unhandled_mail));
  }

  std::vector<Down> downs;

 private:
  TestSystem& system_;
  const Ref<Script> script_;
};

TEST_F(SendThrowsTest, AMessageInUnhandledMailWhoseSizeThrowsFailsTheSuccessor) {
  KeepingParent<Brittle> parent(system());
  parent.SpawnSuccessorTo(Brittle(Brittle::Breaks::kMeasured), Brittle(Brittle::Breaks::kNever));
  ASSERT_EQ(parent.downs.size(), 2U);
  EXPECT_EQ(parent.downs[1].reason.kind(), ExitReason::Kind::kException);
  EXPECT_EQ(parent.downs[1].unhandled_mail.size(), 1U) << "the other is not lost";
}

TEST_F(SendThrowsTest, AMessageInUnhandledMailWhoseMoveThrowsFailsTheSuccessor) {
  KeepingParent<Worn> parent(system());
  parent.SpawnSuccessorTo(Worn(1), Worn(10));  // its one move is into the first mailbox
  ASSERT_EQ(parent.downs.size(), 2U);
  EXPECT_EQ(parent.downs[1].reason.kind(), ExitReason::Kind::kException);
  EXPECT_EQ(parent.downs[1].unhandled_mail.size(), 1U) << "the other is not lost";
}

}  // namespace
}  // namespace understudy
#endif

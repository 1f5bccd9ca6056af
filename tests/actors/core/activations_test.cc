// Activations (the handlers of one actor that have begun and not ended), without an actor.
#include "understudy/actors/internal/turn/activations.h"

#include <array>
#include <coroutine>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "understudy/actors/internal/asks/ask_table.h"
#include "understudy/actors/internal/turn/activation.h"
#include "understudy/actors/internal/turn/actor_core.h"

namespace understudy::internal {
namespace {

// An activation only keeps the reference.
ActorCore& NoActor() {
  alignas(ActorCore) static std::array<unsigned char, sizeof(ActorCore)> memory{};
  return reinterpret_cast<ActorCore&>(memory);
}

class ActivationsTest : public testing::Test {
 protected:
  Activation& Begin(bool is_interleaved = false) {
    auto begun = std::make_unique<Activation>(NoActor(), Activation::Source::kEvent);
    begun->is_interleaved = is_interleaved;
    Activation& activation = *begun;
    activations_.Add(std::move(begun));
    return activation;
  }
  static Waiter WaiterOf(Activation& activation) {
    return {.handle = std::noop_coroutine(), .activation = &activation};
  }

  Activations activations_;
};

TEST_F(ActivationsTest, AHandlerThatAwaitsHoldsTheActorUntilItEnds) {
  EXPECT_TRUE(activations_.IsQuiet());
  Activation& begun = Begin();
  EXPECT_TRUE(activations_.IsHeld());
  EXPECT_FALSE(activations_.IsQuiet());
  EXPECT_EQ(activations_.Take(begun).get(), &begun);
  EXPECT_FALSE(activations_.IsHeld());
  EXPECT_TRUE(activations_.all().empty());
}

TEST_F(ActivationsTest, InterleavedHandlersDoNotHoldTheActor) {
  (void)Begin(/*is_interleaved=*/true);
  EXPECT_FALSE(activations_.IsHeld());
  EXPECT_TRUE(activations_.IsQuiet());
  (void)Begin();
  EXPECT_TRUE(activations_.IsHeld());
}

TEST_F(ActivationsTest, ManyInterleavedHandlersEndInAnyOrderAtTheCostOfEach) {
  std::vector<Activation*> begun;
  for (int i = 0; i < 100'000; ++i) begun.push_back(&Begin(/*is_interleaved=*/true));
  for (auto next = begun.rbegin(); next != begun.rend(); ++next) {  // a walk from the oldest would be 5 * 10^9 steps
    EXPECT_FALSE(activations_.IsHeld());
    activations_.AddResumable(WaiterOf(**next));
    (void)activations_.Take(**next);
  }
  for (auto next = begun.rbegin(); next != begun.rend(); ++next) {
    ASSERT_EQ(activations_.TakeResumable().activation, *next);
  }
  EXPECT_FALSE(activations_.HasResumable());
}

TEST_F(ActivationsTest, AHandlerEndsOnce) {
  Activation& begun = Begin();
  const std::unique_ptr<Activation> ended = activations_.Take(begun);
  EXPECT_DEATH((void)activations_.Take(*ended), "a handler ended twice");
}

TEST_F(ActivationsTest, TheNewestIsTakenFirst) {
  const Activation& first = Begin();
  const Activation& second = Begin();
  EXPECT_EQ(activations_.TakeNewest().get(), &second);
  EXPECT_EQ(activations_.TakeNewest().get(), &first);
  EXPECT_EQ(activations_.TakeNewest(), nullptr);
}

TEST_F(ActivationsTest, WaitersGoOnInTheOrderInWhichTheyMay) {
  Activation& first = Begin();
  Activation& second = Begin();
  activations_.AddResumable(WaiterOf(second));
  activations_.AddResumable(WaiterOf(first));
  EXPECT_FALSE(activations_.IsQuiet());
  EXPECT_EQ(activations_.TakeResumable().activation, &second);
  EXPECT_EQ(activations_.TakeResumable().activation, &first);
  EXPECT_FALSE(activations_.HasResumable());
  activations_.AddResumable(WaiterOf(first));
  activations_.ForgetResumable();
  EXPECT_FALSE(activations_.HasResumable());
}

TEST_F(ActivationsTest, AReceiverDoesNotHoldTheActorAndGoesOnWhenItsReceiveIsOver) {
  Activation& receiver = Begin();
  ASSERT_TRUE(activations_.BeginReceive(nullptr, WaiterOf(receiver)));
  EXPECT_TRUE(activations_.IsReceiving());
  EXPECT_FALSE(activations_.IsHeld());
  EXPECT_FALSE(activations_.IsQuiet());
  activations_.receive().is_taken = true;
  activations_.EndReceive();
  EXPECT_FALSE(activations_.IsReceiving());
  ASSERT_TRUE(activations_.HasResumable());
  EXPECT_EQ(activations_.TakeResumable().activation, &receiver);
  EXPECT_TRUE(activations_.IsHeld());
}

TEST_F(ActivationsTest, OnlyTheHandlerOfWhatAReceiveHasTakenMayReceiveMeanwhile) {
  Activation& outer = Begin();
  ASSERT_TRUE(activations_.BeginReceive(nullptr, WaiterOf(outer)));
  EXPECT_FALSE(activations_.BeginReceive(nullptr, WaiterOf(outer)));
  activations_.receive().is_taken = true;
  Activation& inner = Begin();
  EXPECT_TRUE(activations_.IsHeld());
  ASSERT_TRUE(activations_.BeginReceive(nullptr, WaiterOf(inner)));
  EXPECT_FALSE(activations_.IsHeld());
  EXPECT_FALSE(activations_.receive().is_taken);
  activations_.EndReceive();
  EXPECT_TRUE(activations_.receive().is_taken) << "the outer one";
  activations_.DropReceives();
  EXPECT_FALSE(activations_.IsReceiving());
}

}  // namespace
}  // namespace understudy::internal

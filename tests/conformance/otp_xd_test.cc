// Receiving with a long queue: rows of OTP's receive_SUITE.
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/tests/conformance/scene.h"

namespace understudy {
namespace {

constexpr int kCalls = 100;

class Doubling final : public Actor {
 public:
  Mailbox<"call", Call<int, int>> call{this};
  StartResult Start() override { return doubling_; }

 private:
  Behavior doubling_{"doubling", On(call, [](int n) { return 2 * n; })};
};

// Calls, and receives by content, while old messages wait. Counts how often it looks at them.
class Caller final : public Actor {
 public:
  Mailbox<"old", int> old{this, {.capacity_messages = 1000000}};
  Mailbox<"wanted", int> wanted{this};
  Mailbox<"go", int> go{this};
  Caller(Ref<Doubling> callee, int64_t* looks, int* sum) : callee_(callee), looks_(*looks), sum_(*sum) {}
  StartResult Start() override { return Body(); }

 private:
  Task<> Body() {
    auto begin = Receive(On(go, [] {}));
    co_await begin;
    for (int i = 0; i < kCalls; ++i) {
      const auto asked = callee_[&Doubling::call].Ask(i, absl::Seconds(1));
      const absl::StatusOr<int> answer = co_await asked;
      sum_ += answer.value_or(0);
      context().Tell(wanted, i);
      auto next = Receive(On(wanted, [] {}).If([this, i](int n) {
        ++looks_;
        return n == i;
      }));
      co_await next;
    }
  }
  Ref<Doubling> callee_;
  int64_t& looks_;
  int& sum_;
};

using XdTest = ConformanceTest;

// OTP XD-17
TEST_F(XdTest, CallsAndReceivesDoNotLookAtTheOldMessages) {
  int64_t steps[2] = {};
  for (const bool is_huge : {false, true}) {
    int64_t looks = 0;
    int sum = 0;
    Ref<Doubling> callee = system().Spawn<Doubling>();
    Ref<Caller> caller = system().Spawn<Caller>(callee, &looks, &sum);
    for (int i = 0; is_huge && i < 100000; ++i) {
      caller[&Caller::old].Tell(i);
      if (i == 5000) system().RunUntilIdle();  // early mail is bounded
    }
    system().RunUntilIdle();
    const int64_t before = system().seeded_executor().steps();
    caller[&Caller::go].Tell(1);
    system().RunUntilIdle();
    steps[is_huge ? 1 : 0] = system().seeded_executor().steps() - before;
    EXPECT_EQ(sum, kCalls * (kCalls - 1));
    EXPECT_EQ(looks, kCalls) << "only the wanted messages are looked at";
  }
  EXPECT_EQ(steps[0], steps[1]) << "as many turns as with an empty queue";
}

}  // namespace
}  // namespace understudy

// An option of a mailbox that is out of range fails the start of its actor.
#include "understudy/actors/mailbox_options.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/tests/actors/script.h"

namespace understudy {

class Box final : public Actor {
 public:
  Mailbox<"first", int> first{this};
  Mailbox<"in", int> in;
  Mailbox<"last", int> last{this};
  explicit Box(MailboxOptions options) : in(this, options) {}
  StartResult Start() override { return open_; }

 private:
  Behavior open_{"open", On(first, [](int) {}), On(in, [](int) {}), On(last, [](int) {})};
};

namespace {

class MailboxOptionsTest : public ActorTest {
 protected:
  // Returns the status with which the start of a Box with these options fails, or OK.
  absl::Status StartOf(MailboxOptions options) {
    std::vector<ExitReason> ends;
    Do(parent_, [&](Script& self) {
      SpawnOptions told{.link = SpawnLink::kOneWay};
      told = std::move(told).OnDown([&](const Down& down) { ends.push_back(down.reason); });
      self.context().Spawn<Box>(std::move(told), options);
    });
    system().RunUntilIdle();
    if (ends.empty()) return absl::OkStatus();
    EXPECT_EQ(ends[0].kind(), ExitReason::Kind::kFailed);
    return ends[0].status();
  }

  Ref<Script> parent_ = system().Spawn<Script>();
};

TEST_F(MailboxOptionsTest, OptionsInRangeAreAccepted) {
  EXPECT_EQ(StartOf({}), absl::OkStatus());
  EXPECT_EQ(StartOf({.capacity_messages = 1, .capacity_bytes = 1, .time_to_live = absl::Nanoseconds(1)}),
            absl::OkStatus());
  EXPECT_EQ(StartOf({.capacity_messages = int64_t{1} << 29}), absl::OkStatus());
}

TEST_F(MailboxOptionsTest, AnOptionOutOfRangeFailsTheStartAndNamesClassMailboxValueAndRange) {
  const auto invalid = [](const char* what) {
    return absl::InvalidArgumentError(std::string("understudy::Box: mailbox in: ") + what);
  };
  EXPECT_EQ(StartOf({.capacity_messages = 0}), invalid("capacity_messages must be 1 to 536870912, got 0"));
  EXPECT_EQ(StartOf({.capacity_messages = -1}), invalid("capacity_messages must be 1 to 536870912, got -1"));
  EXPECT_EQ(StartOf({.capacity_messages = (int64_t{1} << 29) + 1}),
            invalid("capacity_messages must be 1 to 536870912, got 536870913"));
  EXPECT_EQ(StartOf({.capacity_bytes = 0}), invalid("capacity_bytes must be at least 1, got 0"));
  EXPECT_EQ(StartOf({.overflow = static_cast<Overflow>(7)}), invalid("overflow must be 0 to 2, got 7"));
  EXPECT_EQ(StartOf({.time_to_live = absl::ZeroDuration()}), invalid("time_to_live must be positive, got 0"));
  EXPECT_EQ(StartOf({.on_restart = static_cast<OnRestart>(7)}), invalid("on_restart must be 0 to 1, got 7"));
  EXPECT_EQ(StartOf({.report_contents = static_cast<ReportContents>(-1)}),
            invalid("report_contents must be 0 to 1, got -1"));
}

}  // namespace
}  // namespace understudy

#include "understudy/transport/sockets/user_thread.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/transport/limits.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(UserThread, RunsCallsAndWritesLinesInTheirOrder) {
  KeptLog log;
  {
    UserThread users(log);
    users.log().Write(LogSeverity::kInfo, "first");
    EXPECT_TRUE(users.Run([&] { log.Write(LogSeverity::kInfo, "second"); }));
    users.log().Write(LogSeverity::kInfo, "third");
  }
  EXPECT_THAT(log.lines(), ElementsAre("first", "second", "third"));
}

TEST(UserThread, CallsBeyondItsBoundAreRefusedCountedAndLogged) {
  KeptLog log;
  constexpr int kRefused = 5;
  {
    absl::Notification running;
    absl::Notification go_on;
    UserThread users(log);  // its destructor waits for the call that uses them
    EXPECT_TRUE(users.Run([&] {
      running.Notify();
      go_on.WaitForNotification();
    }));
    running.WaitForNotification();
    for (size_t i = 0; i < limits::kUserCallsMax; ++i) ASSERT_TRUE(users.Run([] {}));
    EXPECT_EQ(users.refused(), 0);
    for (int i = 0; i < kRefused - 1; ++i) EXPECT_FALSE(users.Run([] {}));
    users.log().Write(LogSeverity::kInfo, "a line beyond the bound");
    EXPECT_EQ(users.refused(), kRefused);
    go_on.Notify();
  }
  EXPECT_THAT(log.lines(), ElementsAre(HasSubstr(absl::StrCat(kRefused, " calls of the user's log sink"))));
}

TEST(UserThread, ItsLogWantsWhatTheUsersLogWants) {
  UserThread users(LogSink::Null());
  EXPECT_FALSE(users.log().Wants(LogSeverity::kError));
}

}  // namespace
}  // namespace understudy::internal

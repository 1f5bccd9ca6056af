// Crash reports by the operator's service: those that are kept, new ones, slow readers, stuck workers.
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/ops.grpc.pb.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervision_watch.h"
#include "understudy/tests/actors/inspection/blocker.h"
#include "understudy/tests/transport/ops/ops_client.h"

namespace understudy {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class OpsCrashesTest : public OpsClientTest {
 protected:
  std::vector<proto::CrashEntry> Kept() {
    grpc::ClientContext context;
    proto::FollowRequest request;
    request.set_kept_only(true);
    const auto entries = stub_->FollowCrashReports(&context, request);
    std::vector<proto::CrashEntry> kept;
    for (proto::CrashEntry entry; entries->Read(&entry);) kept.push_back(entry);
    EXPECT_TRUE(entries->Finish().ok());
    return kept;
  }
  // An actor that has handled `files` messages and has crashed.
  Pid Crash(int files = 0) {
    const Ref<Clerk> clerk = system_.Spawn<Clerk>(SpawnOptions{.label = "clerk"});
    for (int i = 0; i < files; ++i) clerk[&Clerk::file].Tell(i);
    clerk[&Clerk::crash].Tell(1);
    EXPECT_TRUE(system_.AwaitEnd(clerk.pid(), kWithin).ok());
    return clerk.pid();
  }
  // Makes both workers stuck until go_on_.
  void Block() {
    for (absl::Notification* const begun : {&first_begun_, &second_begun_}) {
      system_.Spawn<Blocker>(begun, &go_on_)[&Blocker::block].Tell(1);
    }
    first_begun_.WaitForNotification();
    second_begun_.WaitForNotification();
  }

  absl::Notification first_begun_;
  absl::Notification second_begun_;
};

TEST_F(OpsCrashesTest, AFollowerGetsTheCrashesThatAreKeptAndThenEachNewOne) {
  StartOps();
  const Pid first = Crash(/*files=*/2);
  grpc::ClientContext context;
  const auto entries = stub_->FollowCrashReports(&context, proto::FollowRequest());
  proto::CrashEntry entry;
  ASSERT_TRUE(entries->Read(&entry));
  EXPECT_EQ(entry.number(), 1U);
  EXPECT_EQ(entry.lost(), 0U);
  EXPECT_EQ(entry.pid(), first.ToString());
  EXPECT_EQ(entry.label(), "clerk");
  EXPECT_THAT(entry.doing(), StartsWith("mailbox crash handling a int"));
  EXPECT_THAT(entry.reason(), AllOf(StartsWith("Failed(INTERNAL: "), Not(HasSubstr("\x1b"))));
  EXPECT_FALSE(entry.is_process());
  const Pid second = Crash();
  ASSERT_TRUE(entries->Read(&entry));
  EXPECT_EQ(entry.number(), 2U);
  EXPECT_EQ(entry.pid(), second.ToString());
  context.TryCancel();
}

TEST_F(OpsCrashesTest, ACrashedActorIsToldWithItsLastMessages) {
  StartOps();
  Block();  // so that one turn handles all three messages, on one worker
  const Ref<Clerk> clerk = system_.Spawn<Clerk>();
  clerk[&Clerk::file].Tell(1);
  clerk[&Clerk::file].Tell(2);
  clerk[&Clerk::crash].Tell(3);
  EXPECT_THAT(Kept(), IsEmpty());
  go_on_.Notify();
  ASSERT_TRUE(system_.AwaitEnd(clerk.pid(), kWithin).ok());
  const std::vector<proto::CrashEntry> kept = Kept();
  ASSERT_THAT(kept, SizeIs(1));
  ASSERT_THAT(kept[0].messages(), SizeIs(3));
  EXPECT_EQ(kept[0].messages(0).mailbox(), "crash");
  for (const int i : {1, 2}) EXPECT_EQ(kept[0].messages(i).mailbox(), "file");
  for (const proto::CrashMessage& message : kept[0].messages()) {
    EXPECT_EQ(message.type(), "int");
    EXPECT_EQ(message.bytes(), 4);
    EXPECT_EQ(message.from(), "");
    EXPECT_LE(message.time_unix_nanos(), kept[0].time_unix_nanos());
    EXPECT_GT(message.time_unix_nanos(), kept[0].time_unix_nanos() - absl::ToInt64Nanoseconds(kWithin));
  }
}

TEST_F(OpsCrashesTest, CrashesAreToldWhileEveryWorkerIsStuck) {
  StartOps();
  const Pid crashed = Crash();
  Block();
  const std::vector<proto::CrashEntry> kept = Kept();
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_EQ(kept[0].pid(), crashed.ToString());
}

TEST_F(OpsCrashesTest, AReaderThatComesLateIsToldHowManyAreNotKept) {
  StartOps();
  constexpr uint64_t kCrashes = 1200;
  for (uint64_t i = 0; i < kCrashes; ++i) (void)Crash();
  const std::vector<proto::CrashEntry> kept = Kept();
  ASSERT_FALSE(kept.empty());
  EXPECT_LE(kept.size(), 1000U);
  EXPECT_EQ(kept[0].lost() + kept.size(), kCrashes);
  EXPECT_EQ(kept.back().number(), kCrashes);
}

TEST_F(OpsCrashesTest, AFollowerThatReadsTooSlowlyIsToldHowManyItLostAndDelaysNobody) {
  StartOps();
  grpc::ClientContext context;
  const auto entries = stub_->FollowCrashReports(&context, proto::FollowRequest());
  (void)Crash();
  proto::CrashEntry entry;
  ASSERT_TRUE(entries->Read(&entry));
  // This thread tells the crashes and reads none meanwhile, so it would never finish if telling waited for the reader.
  constexpr uint64_t kCrashes = 20'000;
  CrashReport crash{.pid = {}, .label = std::string(1000, 'x'), .doing = "Start"};
  for (int i = 0; i < 16; ++i) crash.messages.push_back({.mailbox = std::string(200, 'm'), .type = "int"});
  for (uint64_t i = 0; i < kCrashes; ++i) system_.TellCrash(crash, ExitReason::Killed());
  const std::vector<proto::CrashEntry> kept = Kept();  // another reader meanwhile
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(kept.back().number(), 1 + kCrashes);
  uint64_t lost = 0;
  uint64_t got = 1;
  uint64_t bytes = 0;
  while (entry.number() < 1 + kCrashes && entries->Read(&entry)) {
    lost += entry.lost();
    bytes += entry.ByteSizeLong();
    ++got;
  }
  EXPECT_EQ(entry.number(), 1 + kCrashes);
  EXPECT_EQ(got + lost, 1 + kCrashes);
  EXPECT_GT(lost, 0U);
  // Less than the 80 MB of all crashes: the service keeps some, and the connection buffers some.
  EXPECT_LT(bytes, uint64_t{20} << 20);
  context.TryCancel();
}

TEST_F(OpsCrashesTest, AMessagesContentsAreNotToldAndAReportHasSixteenMessages) {
  StartOps();
  CrashReport crash{.pid = {}, .label = "clerk", .doing = "Start"};
  for (int i = 0; i < 30; ++i) crash.messages.push_back({.mailbox = absl::StrCat(i), .contents = "a password"});
  system_.TellCrash(crash, ExitReason::Killed());
  const std::vector<proto::CrashEntry> kept = Kept();
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_THAT(kept[0].messages(), SizeIs(16));
  EXPECT_EQ(kept[0].messages(0).mailbox(), "0");
  EXPECT_EQ(kept[0].messages(0).time_unix_nanos(), 0) << "it is not known";
  EXPECT_THAT(kept[0].SerializeAsString(), Not(HasSubstr("password")));
}

TEST_F(OpsCrashesTest, AProcessChildThatEndedByItselfIsToldAndAStoppedOneIsNot) {
  StartOps();
  SupervisionEvent event{.kind = SupervisionEvent::Kind::kExited,
                         .supervisor = system_.Spawn<Clerk>().pid(),
                         .child = "house",
                         .pid = system_.Spawn<Clerk>().pid(),
                         .reason = ExitReason::OsSignal(6, "its last line")};
  SupervisionWatch::Tell(event);
  event.kind = SupervisionEvent::Kind::kStopped;
  SupervisionWatch::Tell(event);
  event.kind = SupervisionEvent::Kind::kExited;
  event.reason = ExitReason::Killed();  // an actor, perhaps
  SupervisionWatch::Tell(event);
  const std::vector<proto::CrashEntry> kept = Kept();
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_TRUE(kept[0].is_process());
  EXPECT_EQ(kept[0].label(), "house");
  EXPECT_EQ(kept[0].pid(), event.pid.ToString());
  EXPECT_EQ(kept[0].parent(), event.supervisor.ToString());
  EXPECT_THAT(kept[0].reason(), AllOf(StartsWith("OsSignal(6"), HasSubstr("its last line")));
}

}  // namespace
}  // namespace understudy

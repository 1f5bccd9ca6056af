// The reads, the actions and the kept entries of the operator's service, without gRPC and in virtual time.
#include "understudy/transport/ops/ops_reads.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/supervision/builders.h"
#include "understudy/transport/ops/kept_entries.h"
#include "understudy/transport/ops/ops_actions.h"

namespace understudy {
namespace {

using internal::FindActor;
using internal::KeptEntries;
using internal::OpsActions;
using internal::PrintableUtf8;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class Clerk final : public Actor {
 public:
  Mailbox<"file", int> file{this};
  StartResult Start() override { return working_; }

 private:
  Behavior working_{"working", On(file, [](int) {})};
};

TEST(PrintableUtf8Test, TextIsKeptAndOtherBytesAreEscaped) {
  EXPECT_EQ(PrintableUtf8("größe 5 €, 😀"), "größe 5 €, 😀");
  EXPECT_EQ(PrintableUtf8("a\nb\\c\x7f"), "a\\x0ab\\\\c\\x7f");
  EXPECT_EQ(PrintableUtf8("\xff\xc0\x80\xe2\x82"), "\\xff\\xc0\\x80\\xe2\\x82");
  EXPECT_EQ(PrintableUtf8("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
}

TEST(FindActorTest, AnActorIsFoundByItsPidAndByItsNames) {
  TestSystem system;
  const Ref<Clerk> clerk = system.Spawn<Clerk>(SpawnOptions{.registered_as = "clerk"});
  system.RunUntilIdle();
  const std::string printed = clerk.pid().ToString();
  EXPECT_EQ(FindActor(system, printed).value_or(Pid()), clerk.pid());
  EXPECT_EQ(FindActor(system, printed.substr(1, printed.size() - 2)).value_or(Pid()), clerk.pid());
  EXPECT_EQ(FindActor(system, "clerk").value_or(Pid()), clerk.pid());
}

TEST(FindActorTest, AnErrorSaysWhatWasExpected) {
  TestSystem system;
  EXPECT_THAT(std::string(FindActor(system, "").status().message()), HasSubstr("expected a pid such as <house.7.42>"));
  for (const char* text : {"nobody", "<test.1.2", "<other.1.2>", "test.1.0", "test.99999999.1", "test.1.-2"}) {
    const absl::Status status = FindActor(system, text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("is neither a pid of node test nor a name"));
  }
}

TEST(ReadTreeTest, SupervisorsAreToldParentsFirstWithTheirChildren) {
  TestSystem system;
  system.Spawn(
      SpawnOptions{.registered_as = "root"},
      OneForOne().Child("inner", Of(OneForAll().Child("clerk", Of<Clerk>().Transient()))).Child("clerk", Of<Clerk>()));
  system.RunUntilIdle();
  const proto::GetTreeReply reply = internal::ReadTree(system, absl::Milliseconds(500));
  ASSERT_THAT(reply.supervisors(), SizeIs(2));
  const proto::SupervisorDetails& root = reply.supervisors(0);
  const proto::SupervisorDetails& inner = reply.supervisors(1);
  EXPECT_EQ(root.parent(), "");
  EXPECT_EQ(inner.parent(), root.pid());
  ASSERT_THAT(root.children(), SizeIs(2));
  EXPECT_EQ(root.children(0).id(), "inner");
  EXPECT_EQ(root.children(0).pid(), inner.pid());
  EXPECT_EQ(root.children(0).kind(), "supervisor");
  EXPECT_EQ(root.children(1).restart(), "permanent");
  ASSERT_THAT(inner.children(), SizeIs(1));
  EXPECT_EQ(inner.children(0).restart(), "transient");
  EXPECT_EQ(inner.children(0).state(), "running");
}

class OpsActionsTest : public ::testing::Test {
 protected:
  absl::Status Act(OpsActions& actions, proto::Action action, const std::string& actor, const std::string& child = "") {
    proto::ActRequest request;
    request.set_action(action);
    request.set_actor(actor);
    request.set_child(child);
    const absl::Status status = actions.Act(request).status();
    executor_.RunUntilIdle();
    return status;
  }

  SeededExecutor executor_{1};
  KeptLog log_;
  ActorSystem system_{{.name = "desk", .executor = &executor_, .seed = 1, .log = &log_}};
};

TEST_F(OpsActionsTest, AnActorIsStoppedAfterALineInTheLog) {
  system_.Spawn<Clerk>(SpawnOptions{.registered_as = "clerk"});
  executor_.RunUntilIdle();
  OpsActions actions(system_, nullptr, {OpsAction::kStop});
  EXPECT_TRUE(Act(actions, proto::STOP, "clerk").ok());
  EXPECT_EQ(system_.live_actors(), 0);
  EXPECT_THAT(log_.lines(), ElementsAre(HasSubstr("asks to stop clerk")));
}

TEST_F(OpsActionsTest, AnActionThatIsNotAllowedIsRefusedAndLogged) {
  system_.Spawn<Clerk>(SpawnOptions{.registered_as = "clerk"});
  executor_.RunUntilIdle();
  OpsActions actions(system_, nullptr, {OpsAction::kStop});
  const absl::Status status = Act(actions, proto::KILL, "clerk");
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("does not allow its operator to kill clerk"));
  EXPECT_EQ(system_.live_actors(), 1);
  EXPECT_THAT(log_.lines(), ElementsAre(HasSubstr("asks to kill clerk: refused")));
}

TEST_F(OpsActionsTest, AnActionWithoutItsObjectSaysWhatIsMissing) {
  OpsActions actions(system_, nullptr, {OpsAction::kKill, OpsAction::kDrain, OpsAction::kRestart});
  EXPECT_THAT(std::string(Act(actions, proto::DRAIN, "").message()), HasSubstr("there is no node to drain"));
  EXPECT_THAT(std::string(Act(actions, proto::KILL, "nobody").message()), HasSubstr("'nobody' is neither"));
  EXPECT_THAT(std::string(Act(actions, proto::ACTION_NONE, "").message()), HasSubstr("unknown action 0"));
}

TEST_F(OpsActionsTest, AChildIsRestartedAndTheLogSaysSo) {
  const SupervisorRef root = system_.Spawn(OneForOne().Child("clerk", Of<Clerk>().RegisteredAs("clerk")));
  executor_.RunUntilIdle();
  const absl::optional<Pid> before = system_.WhereIs("clerk");
  OpsActions actions(system_, nullptr, {OpsAction::kRestart});
  EXPECT_TRUE(Act(actions, proto::RESTART, root.pid().ToString(), "clerk").ok());
  const absl::optional<Pid> after = system_.WhereIs("clerk");
  ASSERT_TRUE(before.has_value() && after.has_value());
  EXPECT_NE(*before, *after);
  EXPECT_THAT(log_.lines(), ::testing::Contains(HasSubstr("child 'clerk' runs as")));
  EXPECT_THAT(std::string(Act(actions, proto::RESTART, root.pid().ToString()).message()),
              HasSubstr("no child is named"));
}

proto::DeadLetterEntry Entry(const std::string& why) {
  proto::DeadLetterEntry entry;
  entry.set_why(why);
  return entry;
}

TEST(KeptEntriesTest, AReaderGetsEachEntryOnceAndIsToldOfThoseThatItLost) {
  KeptEntries<proto::DeadLetterEntry> kept(3, 1000);
  EXPECT_FALSE(kept.After(0).has_value());
  for (const char* why : {"a", "b"}) kept.Add(Entry(why));
  EXPECT_EQ(kept.After(0)->why(), "a");
  EXPECT_EQ(kept.After(0)->lost(), 0U);
  EXPECT_EQ(kept.After(1)->why(), "b");
  EXPECT_FALSE(kept.After(2).has_value());
  for (const char* why : {"c", "d", "e", "f"}) kept.Add(Entry(why));
  const absl::optional<proto::DeadLetterEntry> next = kept.After(1);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->why(), "d");
  EXPECT_EQ(next->number(), 4U);
  EXPECT_EQ(next->lost(), 2U);
}

TEST(KeptEntriesTest, TheBytesOfAllEntriesAreBounded) {
  KeptEntries<proto::DeadLetterEntry> kept(1000, 300);
  for (int i = 0; i < 10; ++i) kept.Add(Entry(std::string(100, 'x')));
  EXPECT_EQ(kept.After(0)->number(), 9U) << "two entries of some 100 bytes are kept";
  kept.Add(Entry(std::string(1000, 'x')));
  EXPECT_FALSE(kept.After(0).has_value());
  kept.Add(Entry("y"));
  EXPECT_EQ(kept.After(10)->lost(), 1U);
}

}  // namespace
}  // namespace understudy

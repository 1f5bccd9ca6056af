// StartProgress and SpawnRecord alone.
#include "understudy/actors/internal/turn/actor_start.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/internal/turn/message_handler.h"
#include "understudy/actors/message.h"
#include "understudy/actors/unhandled_mail.h"

namespace understudy::internal {
namespace {

TEST(StartProgressTest, AnActorThatStartsLaterHandlesMessagesBeforeItHasStarted) {
  StartProgress start;
  EXPECT_TRUE(start.is_constructing());
  EXPECT_FALSE(start.is_starting());
  EXPECT_FALSE(start.handles_messages());
  start.Constructed();
  EXPECT_FALSE(start.is_constructing());
  EXPECT_TRUE(start.is_starting());
  EXPECT_FALSE(start.handles_messages());
  start.Open();
  EXPECT_FALSE(start.is_starting());
  EXPECT_TRUE(start.handles_messages());
  EXPECT_FALSE(start.has_started());
  start.Started();
  EXPECT_TRUE(start.handles_messages());
  EXPECT_TRUE(start.has_started());
  EXPECT_FALSE(start.is_starting());
}

TEST(StartProgressTest, AStartIsUnderWayUntilItHasSucceededOrFailedOtherwiseThanByItsTimeLimit) {
  const ExitReason failed = ExitReason::Failed(absl::DataLossError("torn"));
  const ExitReason timeout = ExitReason::StartTimeout();
  StartProgress start;
  EXPECT_TRUE(start.IsUnderWay(nullptr));
  EXPECT_TRUE(start.IsUnderWay(&timeout)) << "its handler has not returned yet";
  EXPECT_FALSE(start.IsUnderWay(&failed)) << "it may take its time to end";
  start.Constructed();
  start.Open();
  EXPECT_TRUE(start.IsUnderWay(nullptr));
  start.Started();
  EXPECT_FALSE(start.IsUnderWay(nullptr));
  EXPECT_FALSE(start.IsUnderWay(&timeout));
}

TEST(StartProgressTest, DecliningAndTheProcessStyleAreNoStages) {
  StartProgress start;
  start.Constructed();
  EXPECT_FALSE(start.has_declined());
  EXPECT_FALSE(start.is_process());
  start.Decline();
  start.BecomeProcess();
  EXPECT_TRUE(start.has_declined());
  EXPECT_TRUE(start.is_process());
  EXPECT_TRUE(start.is_starting());
  start.Started();
  EXPECT_TRUE(start.is_process());
}

TEST(SpawnRecordTest, APlainSpawnLeavesNothing) {
  EXPECT_TRUE(SpawnRecord().empty());
  const SpawnRecord record({.link = SpawnLink::kUnlinked}, /*parents_id=*/0);
  EXPECT_TRUE(record.empty());
  EXPECT_FALSE(record.has_names());
  EXPECT_EQ(record.options().start_within, absl::InfiniteDuration());
  EXPECT_EQ(record.options().shutdown_within, SpawnOptions().shutdown_within);
}

TEST(SpawnRecordTest, EachOptionThatTheActorNeedsIsKept) {
  EXPECT_EQ(SpawnRecord({.registered_as = "a"}, 0).options().registered_as, "a");
  EXPECT_EQ(SpawnRecord({.published_as = "a"}, 0).options().published_as, "a");
  EXPECT_EQ(SpawnRecord({.label = "a"}, 0).options().label, "a");
  EXPECT_EQ(SpawnRecord({.start_within = absl::Seconds(3)}, 0).options().start_within, absl::Seconds(3));
  EXPECT_EQ(SpawnRecord({.shutdown_within = absl::Seconds(3)}, 0).options().shutdown_within, absl::Seconds(3));
  EXPECT_EQ(SpawnRecord({.thread = SpawnThread::kOwn}, 0).options().thread, SpawnThread::kOwn);
  EXPECT_TRUE(SpawnRecord({.registered_as = "a"}, 0).has_names());
  EXPECT_TRUE(SpawnRecord({.published_as = "a"}, 0).has_names());
  EXPECT_FALSE(SpawnRecord({.label = "a"}, 0).has_names());
}

TEST(SpawnRecordTest, TheParentsHandlersAreNotKept) {
  const auto handler = std::make_shared<MessageHandler>(MessageHandler::Dropping());
  const SpawnRecord record({.label = "a", .outcome_handler = handler, .down_handler = handler}, /*parents_id=*/7);
  EXPECT_EQ(handler.use_count(), 1);
  EXPECT_EQ(record.parents_id(), 7U);
}

TEST(SpawnRecordTest, TheParentsIdAloneIsARecord) { EXPECT_FALSE(SpawnRecord({}, /*parents_id=*/7).empty()); }

TEST(SpawnRecordTest, TheStartTimerIsTakenOnce) {
  SpawnRecord record;
  EXPECT_EQ(record.TakeStartTimer(), 0U);
  record.SetStartTimer(7);
  EXPECT_EQ(record.TakeStartTimer(), 7U);
  EXPECT_EQ(record.TakeStartTimer(), 0U);
}

TEST(SpawnRecordTest, TheMailOfThePredecessorIsTakenOnceAndWhatIsReturnedIsLeftForTheNext) {
  Envelope* const message = Envelope::Make(EnvelopeKind::kMessage, TypeOf<int>(), /*has_call_part=*/false);
  MailOfActor left;
  left.messages = {message};
  SpawnOptions options = SpawnOptions().WithUnhandledMail(UnhandledMail(std::move(left)));
  SpawnRecord record(std::move(options), /*parents_id=*/0);
  EXPECT_FALSE(record.empty());
  UnhandledMail taken = record.TakeMail();
  EXPECT_EQ(taken.size(), 1U);
  EXPECT_TRUE(record.empty());
  record.ReturnMail(std::move(taken));
  EXPECT_FALSE(record.empty());
  taken = record.TakeMail();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_TRUE(record.TakeMail().empty());
  Envelope::Delete(std::exchange(taken.mails()[0].messages[0], nullptr));  // else it would become a dead letter
}

}  // namespace
}  // namespace understudy::internal

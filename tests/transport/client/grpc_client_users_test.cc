// Actors that use a client actor as any other: they find it by its name, so that a mock may take its place, and their
// monitors and links tell of the server.
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/named.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/test_system.h"
#include "understudy/tests/transport/client/client_fixture.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/desk.pb.h"
#include "understudy/tests/transport/gateway/desk.testing.h"
#include "understudy/tests/transport/gateway/front.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;
using ::testing::Property;

class GrpcClientUsersTest : public GrpcClientTest {};

// Asks the desk to repeat each text, and passes the desk's errors on unchanged.
class Clerk final : public Actor {
 public:
  Mailbox<"repeat", Call<std::string, std::string>> repeat{this};

 private:
  StartResult Start() override { return repeating_; }
  Task<absl::StatusOr<std::string>> Repeat(std::string text) {
    auto asked = desk_->echo().Ask(TextOf(std::move(text)), absl::Seconds(5));
    const absl::StatusOr<desk::Text> reply = co_await asked;
    if (!reply.ok()) co_return reply.status();
    co_return reply->text();
  }

  const Named<desk::DeskRef> desk_{"desk"};
  Behavior repeating_{"repeating", On(repeat, &Clerk::Repeat)};
};

TEST_F(GrpcClientUsersTest, AMockOfTheServiceTakesTheClientsPlace) {
  system.Spawn<DeskClient>(SpawnOptions{.registered_as = "desk"}, GrpcClientOptions{.target = server.address()});
  ASSERT_TRUE(system.Lookup<desk::DeskRef>("desk", kWithin).ok());
  const auto repeated = system.Ask(system.Spawn<Clerk>()[&Clerk::repeat], std::string("hello"), kWithin);
  ASSERT_TRUE(repeated.ok()) << repeated.status();
  EXPECT_EQ(*repeated, "hello");
  EXPECT_EQ(server.counts.echoes, 1);

  TestSystem tested;
  desk::MockDesk mock(tested, {.registered_as = "desk"});
  tested.RunUntilIdle();
  mock.echo.Expect(Property(&desk::Text::text, "hello")).Answer(TextOf("from the mock"));
  mock.echo.Expect().Answer(absl::UnavailableError("as without a server"));
  const Ref<Clerk> clerk = tested.Spawn<Clerk>();
  EXPECT_EQ(*tested.Ask(clerk[&Clerk::repeat], std::string("hello"), absl::Seconds(1)), "from the mock");
  EXPECT_EQ(tested.Ask(clerk[&Clerk::repeat], std::string("again"), absl::Seconds(1)).status(),
            absl::UnavailableError("as without a server"));
  EXPECT_EQ(server.counts.echoes, 1);
}

// The events of an actor that monitors another one.
struct Told {
  absl::Notification ready;
  absl::Notification over;
  ExitReason reason;  // before `over`
};

class Watcher final : public Actor {
 public:
  Watcher(Pid watched, std::shared_ptr<Told> told) : watched_(watched), told_(std::move(told)) {}

 private:
  StartResult Start() override {
    monitor_ = context().Monitor(watched_, &Watcher::NoteEnd);
    told_->ready.Notify();
    return watching_;
  }
  void NoteEnd(const Down& down) {
    told_->reason = down.reason;
    told_->over.Notify();
  }

  const Pid watched_;
  const std::shared_ptr<Told> told_;
  MonitorHandle monitor_;
  Behavior watching_{"watching", After(absl::Hours(1), [] {})};
};

class Partner final : public Actor {
 public:
  explicit Partner(desk::DeskRef desk) : desk_(desk) {}

 private:
  StartResult Start() override {
    context().Link(desk_);
    return working_;
  }

  const desk::DeskRef desk_;
  Behavior working_{"working", After(absl::Hours(1), [] {})};
};

TEST_F(GrpcClientUsersTest, AMonitorAndALinkTellThatTheServerHasGone) {
  const desk::DeskRef desk = Client({.connect_within = absl::Milliseconds(300)});
  const auto partner = system.Spawn<Partner>(desk);
  ASSERT_TRUE(system.AwaitStart(partner.pid(), kWithin).ok());
  const auto of_client = std::make_shared<Told>(), of_partner = std::make_shared<Told>();
  system.Spawn<Watcher>(desk.pid(), of_client);
  system.Spawn<Watcher>(partner.pid(), of_partner);
  for (const auto& told : {of_client, of_partner}) {
    ASSERT_TRUE(told->ready.WaitForNotificationWithTimeout(kWithin));
  }
  EXPECT_EQ(Echo(desk, "hello")->text(), "hello");
  server.Stop();
  for (const auto& told : {of_client, of_partner}) {
    ASSERT_TRUE(told->over.WaitForNotificationWithTimeout(kWithin));
    EXPECT_EQ(told->reason.kind(), ExitReason::Kind::kNoConnection) << told->reason.ToString();
    EXPECT_THAT(told->reason.ToString(), HasSubstr(server.address()));
  }
}

}  // namespace
}  // namespace understudy

// Traces of an actor's messages through the operator's service.
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/proto/ops.grpc.pb.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/tests/transport/ops/ops_client.h"
#include "understudy/tests/transport/ops/secret.pb.h"
#include "understudy/transport/ops/ops.h"

namespace understudy {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class Vault final : public Actor {
 public:
  Mailbox<"keep", test::Secret> keep{this};
  StartResult Start() override { return open_; }

 private:
  Behavior open_{"open", On(keep, [](const test::Secret&) {})};
};

class OpsTraceTest : public OpsClientTest {
 protected:
  void SetUp() override {
    vault_ = system_.Spawn<Vault>(SpawnOptions{.registered_as = "vault"});
    ASSERT_TRUE(system_.AwaitStart(vault_.pid(), kWithin).ok());
  }
  static proto::TraceRequest Request(int64_t messages_max, absl::Duration time = absl::Minutes(5)) {
    proto::TraceRequest request;
    request.set_actor("vault");
    request.set_messages_max(messages_max);
    request.set_time_nanos(absl::ToInt64Nanoseconds(time));
    return request;
  }
  void Keep(const std::string& name) {
    test::Secret secret;
    secret.set_name(name);
    secret.set_password("hunter2");
    vault_[&Vault::keep].Tell(secret);
  }
  // Tells the actor messages until `trace` has an entry: until then it may not have begun.
  proto::TraceEntry First(grpc::ClientReader<proto::TraceEntry>& trace) {
    std::atomic<bool> has_come{false};
    std::thread telling([&] {
      while (!has_come.load()) {
        Keep("again");
        std::this_thread::yield();
      }
    });
    proto::TraceEntry entry;
    if (!trace.Read(&entry)) ADD_FAILURE() << trace.Finish().error_message();
    has_come.store(true);
    telling.join();
    return entry;
  }
  grpc::Status Refused(const proto::TraceRequest& request) {
    grpc::ClientContext context;
    const auto trace = stub_->TraceMessages(&context, request);
    proto::TraceEntry entry;
    EXPECT_FALSE(trace->Read(&entry));
    return trace->Finish();
  }

  Ref<Vault> vault_;
};

TEST_F(OpsTraceTest, AClientGetsTheMessagesAndTheStreamEndsAtItsBound) {
  StartOps();
  grpc::ClientContext context;
  const auto trace = stub_->TraceMessages(&context, Request(3));
  const proto::TraceEntry first = First(*trace);
  EXPECT_EQ(first.number(), 1U);
  EXPECT_EQ(first.mailbox(), "keep");
  EXPECT_EQ(first.type(), "understudy.test.Secret");
  EXPECT_GT(first.bytes(), 10);
  EXPECT_EQ(first.from(), "");
  EXPECT_GT(first.time_unix_nanos(), 0);
  EXPECT_EQ(first.contents(), "") << "they were not asked for";
  for (int i = 0; i < 3; ++i) Keep("more");
  int more = 0;
  for (proto::TraceEntry entry; trace->Read(&entry);) ++more;
  EXPECT_EQ(more, 2);
  EXPECT_TRUE(trace->Finish().ok());
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("asks to trace 3 messages of vault for at most 5m")));
}

TEST_F(OpsTraceTest, ContentsAreShownOnlyToWhoMaySeeThemAndWithoutSecrets) {
  StartOps();
  proto::TraceRequest request = Request(1);
  request.set_contents(true);
  const grpc::Status refused = Refused(request);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED) << "no default has them";
  EXPECT_THAT(refused.error_message(), HasSubstr("OpsOptions::actions lacks trace contents"));
  EXPECT_THAT(log_.lines(), Contains(AllOf(HasSubstr("with their contents"), HasSubstr("refused"))));

  ops_ = nullptr;
  StartOps({.actions = {OpsAction::kTrace, OpsAction::kTraceContents}});
  grpc::ClientContext context;
  const auto trace = stub_->TraceMessages(&context, request);
  const proto::TraceEntry entry = First(*trace);
  EXPECT_THAT(entry.contents(), AllOf(HasSubstr("name: \"again\""), Not(HasSubstr("hunter2"))));
}

TEST_F(OpsTraceTest, ATraceThatIsNotAllowedOrHasNoObjectIsRefused) {
  StartOps({.actions = {OpsAction::kKill}});
  EXPECT_EQ(Refused(Request(1)).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  ops_ = nullptr;
  StartOps();
  proto::TraceRequest request = Request(1);
  request.set_actor("nobody");
  EXPECT_EQ(Refused(request).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(Refused(Request(10'001)).error_message(), HasSubstr("cannot trace 10001 messages: expected 1 to 10000"));
  EXPECT_THAT(Refused(Request(1, absl::Hours(1))).error_message(), HasSubstr("expected more than 0 and at most 10m"));
}

TEST_F(OpsTraceTest, ATraceEndsWhenItsClientLeavesAndWhenItsActorEnds) {
  StartOps();
  {
    grpc::ClientContext context;
    const auto trace = stub_->TraceMessages(&context, Request(1000));
    (void)First(*trace);
    EXPECT_EQ(Refused(Request(1)).error_code(), grpc::StatusCode::ALREADY_EXISTS);
    context.TryCancel();
    for (proto::TraceEntry entry; trace->Read(&entry);) {
    }
    EXPECT_FALSE(trace->Finish().ok());
  }
  grpc::ClientContext context;
  // The service notices that the client has left, and the actor can be traced again.
  EXPECT_TRUE(Await([&] {
    grpc::ClientContext once;
    const auto again = stub_->TraceMessages(&once, Request(1, absl::Milliseconds(1)));
    for (proto::TraceEntry entry; again->Read(&entry);) {
    }
    return again->Finish().ok();
  }));
  const auto trace = stub_->TraceMessages(&context, Request(1000));
  (void)First(*trace);
  system_.Kill(vault_.pid());
  for (proto::TraceEntry entry; trace->Read(&entry);) {
  }
  EXPECT_TRUE(trace->Finish().ok());
}

}  // namespace
}  // namespace understudy

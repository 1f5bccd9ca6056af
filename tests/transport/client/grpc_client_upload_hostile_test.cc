// Uploads to servers that die, fall silent, or send invalid data, and askers and clients that end during an upload.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/error.h"
#include "understudy/tests/transport/client/bytes_server.h"
#include "understudy/tests/transport/client/client_fixture.h"
#include "understudy/tests/transport/client/upload_fixture.h"
#include "understudy/tests/transport/client/uploader.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/front.h"
#include "understudy/tests/transport/trials/fault_proxy.h"
#include "understudy/transport/client/grpc_client.h"

namespace understudy {
namespace {

using net_testing::FaultProxy;
using ::testing::HasSubstr;

class GrpcClientUploadHostileTest : public GrpcClientUploadTest {
 protected:
  // Begins `count` uploads by both rpcs. Each has sent a parcel to the server and has not ended.
  std::vector<Uploading> ManyUploads(desk::DeskRef desk, int count) {
    std::vector<Uploading> many;
    for (int i = 0; i < count; ++i) {
      const UploadPlan waits{.parcels = 1, .end = UploadEnd::kStay};
      const UploadPlan is_held_up{.parcels = 4000, .bytes = 64 << 10, .special = StayingParcel()};
      const UploadPlan& plan = i % 4 < 2 ? waits : is_held_up;
      many.push_back(i % 2 == 0 ? Collect(desk, plan) : Converse(desk, plan));
    }
    EXPECT_TRUE(Eventually([&] { return uploads.parcels == count; }));
    return many;
  }
  // Expects that the client, which may have `calls_max` calls under way, has none.
  void ExpectNothingUnderWay(desk::DeskRef desk, int calls_max) {
    EXPECT_TRUE(Eventually([&] { return Echo(desk, "next").ok(); }));
    Wait(desk, calls_max);
    EXPECT_TRUE(Eventually([&] { return server.counts.waits == calls_max; }));
  }
};

TEST_F(GrpcClientUploadHostileTest, TheDeathOfTheConnectionEndsUploadsWithNoConnection) {
  FaultProxy proxy(server.address());
  const desk::DeskRef desk = Client({.target = proxy.address(), .connect_within = absl::Hours(1), .calls_max = 8});
  const std::vector<Uploading> many = ManyUploads(desk, 8);
  proxy.ResetAll();
  for (const Uploading& upload : many) EXPECT_TRUE(IsNoConnection(upload->End())) << upload->End();
  for (const Uploading& upload : many) {
    if (upload->written() == 1 && upload->write_error().ok()) continue;  // it waited with nothing to write
    EXPECT_TRUE(Eventually([&] { return IsNoConnection(upload->write_error()); })) << upload->write_error();
  }
  ExpectAtServer(/*broken=*/8, /*complete=*/0);
  ExpectNothingUnderWay(desk, 8);
}

TEST_F(GrpcClientUploadHostileTest, TheEndOfTheServerEndsUploads) {
  const desk::DeskRef desk = Client({.connect_within = absl::Hours(1), .calls_max = 8});
  const std::vector<Uploading> many = ManyUploads(desk, 8);
  server.Stop();
  for (const Uploading& upload : many) EXPECT_FALSE(upload->End().ok());
  ExpectAtServer(/*broken=*/8, /*complete=*/0);
  server.Start();
  ExpectNothingUnderWay(desk, 8);
}

TEST_F(GrpcClientUploadHostileTest, UploadsToAServerThatFallsSilentExpire) {
  FaultProxy proxy(server.address());
  const desk::DeskRef desk = Client({.target = proxy.address(), .calls_max = 1});
  EXPECT_EQ(Echo(desk, "hello")->text(), "hello");
  proxy.Stall(FaultProxy::kBothWays);
  const Uploading upload = Collect(desk, {.parcels = 4000, .bytes = 64 << 10, .timeout = absl::Milliseconds(500)});
  EXPECT_TRUE(IsExpired(upload->End())) << upload->End();
  EXPECT_TRUE(Eventually([&] { return IsExpired(upload->write_error()); })) << upload->write_error();
  proxy.Heal();
  ExpectNothingUnderWay(desk, 1);
}

TEST_F(GrpcClientUploadHostileTest, AServerThatAnswersWithoutReadingEndsTheUpload) {
  const std::string text = TextOf("an answer").SerializeAsString();
  const UploadPlan plan{.parcels = 4000, .bytes = 64 << 10};
  {
    const BytesServer one({text});
    const desk::DeskRef desk = Client({.target = one.address()});
    const Uploading collected = Collect(desk, plan), conversed = Converse(desk, plan);
    EXPECT_TRUE(collected->End().ok()) << collected->End();
    EXPECT_EQ(collected->last(), "an answer");
    EXPECT_TRUE(conversed->End().ok()) << conversed->End();
    EXPECT_EQ(conversed->answers(), 1);
  }
  const BytesServer none({}), two({text, text}), wrong({"\xff\xff\xff"});
  const auto expect = [&](const BytesServer& bytes, const std::string& error) {
    const Uploading collected = Collect(Client({.target = bytes.address()}), plan);
    EXPECT_EQ(collected->End().code(), absl::StatusCode::kInternal) << collected->End();
    EXPECT_THAT(std::string(collected->End().message()), HasSubstr(error));
  };
  expect(none, "sent no message");
  expect(two, "more than one answer");
  expect(wrong, "is not a valid desk.Text");
  const desk::DeskRef desk = Client({.target = wrong.address()});
  const Uploading conversed = Converse(desk, plan);
  EXPECT_EQ(conversed->End().code(), absl::StatusCode::kInternal) << conversed->End();
}

TEST_F(GrpcClientUploadHostileTest, TheEndOfTheClientEndsManyUploads) {
  const desk::DeskRef desk = Client();
  const std::vector<Uploading> many = ManyUploads(desk, 40);
  system.Kill(desk.pid());
  for (const Uploading& upload : many) EXPECT_TRUE(IsCalleeExited(upload->End())) << upload->End();
  ExpectAtServer(/*broken=*/40, /*complete=*/0);
}

TEST_F(GrpcClientUploadHostileTest, AskersThatAreKilledInTheMiddleLeaveNothingBehind) {
  const desk::DeskRef desk = Client({.calls_max = 40});
  for (const Uploading& upload : ManyUploads(desk, 40)) system.Kill(upload.asker.pid());
  ExpectAtServer(/*broken=*/40, /*complete=*/0);
  ExpectNothingUnderWay(desk, 40);
}

TEST_F(GrpcClientUploadHostileTest, UploadsThatAreCancelledAtAnyMomentAreNotCompleteAndLeaveNothingBehind) {
  const desk::DeskRef desk = Client({.calls_max = 1});
  EXPECT_EQ(Echo(desk, "first")->text(), "first");
  for (int i = 0; i < 300; ++i) {
    const UploadPlan plan{.parcels = i % 7, .bytes = static_cast<size_t>(i) * 500, .end = UploadEnd::kStay};
    const Uploading upload = i % 2 == 0 ? Collect(desk, plan) : Converse(desk, plan);
    Spin(i * 10);
    if (i % 3 == 0) {
      system.Kill(upload.asker.pid());
    } else {
      (void)upload.asker.Send(UploadEnd::kCancel);
      if (i % 3 == 1) EXPECT_TRUE(understudy::IsCancelled(upload->End())) << upload->End();
    }
  }
  ExpectNothingUnderWay(desk, 1);
  EXPECT_TRUE(Eventually([&] { return uploads.open == 0; }));
  EXPECT_EQ(uploads.complete, 0);
}

}  // namespace
}  // namespace understudy

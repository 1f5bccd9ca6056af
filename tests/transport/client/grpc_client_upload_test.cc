// Uploads to an actor that stands for a plain gRPC service: items, their true end, flow control, early answers,
// cancellation and bounds.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/ask_handle.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/tests/transport/client/client_fixture.h"
#include "understudy/tests/transport/client/upload_fixture.h"
#include "understudy/tests/transport/client/uploader.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/front.h"
#include "understudy/transport/client/grpc_client.h"
#include "understudy/transport/gateway/exported_service.h"

namespace understudy {
namespace {

TEST_F(GrpcClientUploadTest, TheItemsComeInOrderAndThenTheirEndAndTheAskerGetsTheReply) {
  const desk::DeskRef desk = Client();
  for (const int parcels : {0, 1, 1000}) {
    const Uploading upload = Collect(desk, {.parcels = parcels});
    EXPECT_TRUE(upload->End().ok()) << upload->End();
    EXPECT_EQ(upload->last(), absl::StrCat(parcels, " parcels"));
    EXPECT_EQ(upload->written(), parcels);
  }
  const Uploading large = Collect(desk, {.parcels = 3, .bytes = size_t{3} << 20});
  EXPECT_TRUE(large->End().ok()) << large->End();
  EXPECT_EQ(large->last(), "3 parcels");
  ExpectAtServer(/*broken=*/0, /*complete=*/4);
}

TEST_F(GrpcClientUploadTest, AnswersComeWhileItemsGo) {
  const Uploading upload = Converse(Client(), {.parcels = 100, .end = UploadEnd::kStay});
  EXPECT_TRUE(Eventually([&] { return upload->answers() == 100; }));
  EXPECT_EQ(upload->last(), "99 ");
  EXPECT_FALSE(upload->has_ended());
  ASSERT_TRUE(upload.asker.Send(UploadEnd::kFinish).ok());
  EXPECT_TRUE(upload->End().ok()) << upload->End();
  ExpectAtServer(/*broken=*/0, /*complete=*/1);
}

TEST_F(GrpcClientUploadTest, EachDirectionHasItsOwnFlow) {
  const Uploading upload = Converse(Client(), {.parcels = 300, .bytes = 16 << 10});
  EXPECT_TRUE(upload->End().ok()) << upload->End();
  EXPECT_EQ(upload->answers(), 300);
  ExpectAtServer(/*broken=*/0, /*complete=*/1);
}

TEST_F(GrpcClientUploadTest, AnAnswerBeforeTheEndOfTheItemsEndsTheUpload) {
  const desk::DeskRef desk = Client();
  for (const int code : {0, 9}) {
    // The server ends the call after the third parcel, while the asker goes on writing or only waits.
    for (const int parcels : {4, 4000}) {
      const UploadPlan plan{.parcels = parcels,
                            .bytes = 16 << 10,
                            .special = EndingParcel(code, "no more"),
                            .special_at = 3,
                            .end = UploadEnd::kStay};
      const Uploading collected = Collect(desk, plan), conversed = Converse(desk, plan);
      EXPECT_EQ(conversed->End(), absl::Status(static_cast<absl::StatusCode>(code), code == 0 ? "" : "no more"));
      EXPECT_EQ(conversed->answers(), 3);
      EXPECT_EQ(collected->End(), conversed->End());
      EXPECT_EQ(collected->last(), code == 0 ? "3 parcels" : "");
      if (parcels == 4) continue;
      for (const Uploading& upload : {collected, conversed}) {
        EXPECT_TRUE(Eventually([&] { return !upload->write_error().ok(); }));
        if (code == 0) EXPECT_TRUE(understudy::IsCancelled(upload->write_error())) << upload->write_error();
        if (code != 0) EXPECT_EQ(upload->write_error(), absl::FailedPreconditionError("no more"));
      }
    }
  }
  EXPECT_EQ(uploads.complete, 0);
}

TEST_F(GrpcClientUploadTest, ItemsThatAreNotFinishedAreCancelledAtTheServerAndNotTakenForAll) {
  const desk::DeskRef desk = Client();
  const UploadPlan plan{.parcels = 5, .end = UploadEnd::kStay};
  int broken = 0;
  for (const UploadEnd end : {UploadEnd::kFail, UploadEnd::kDrop, UploadEnd::kCancel}) {
    for (const bool converses : {false, true}) {
      const Uploading upload = converses ? Converse(desk, plan) : Collect(desk, plan);
      ASSERT_TRUE(Eventually([&] { return uploads.parcels == 5 * (broken + 1); }));
      ASSERT_TRUE(upload.asker.Send(end).ok());
      if (end == UploadEnd::kFail) EXPECT_EQ(upload->End(), absl::DataLossError("the parcels are lost"));
      if (end != UploadEnd::kFail) EXPECT_TRUE(understudy::IsCancelled(upload->End())) << upload->End();
      ++broken;
    }
    ExpectAtServer(broken, /*complete=*/0);
  }
}

TEST_F(GrpcClientUploadTest, TheEndOfTheAskerCancelsTheCallWhereverItWaits) {
  const desk::DeskRef desk = Client();
  // The server waits for the next parcel, or does not read while the asker has more.
  const std::vector<UploadPlan> plans = {
      {.parcels = 3, .end = UploadEnd::kStay},
      {.parcels = 4000, .bytes = 64 << 10, .special = StayingParcel(), .special_at = 2}};
  int broken = 0;
  for (const UploadPlan& plan : plans) {
    for (const bool converses : {false, true}) {
      const Uploading upload = converses ? Converse(desk, plan) : Collect(desk, plan);
      ASSERT_TRUE(Eventually([&] { return uploads.parcels == 3 * (broken + 1); }));
      system.Exit(upload.asker.pid(), ExitReason::Shutdown());
      ++broken;
    }
    ExpectAtServer(broken, /*complete=*/0);
  }
}

TEST_F(GrpcClientUploadTest, AServerThatDoesNotReadHoldsUpTheAskersWrites) {
  const Uploading upload = Collect(Client(), {.parcels = 4000,
                                              .bytes = 64 << 10,
                                              .special = StayingParcel(),
                                              .end = UploadEnd::kStay,
                                              .write_within = absl::Milliseconds(500)});
  EXPECT_TRUE(Eventually([&] { return !upload->write_error().ok(); }));
  EXPECT_TRUE(IsExpired(upload->write_error())) << upload->write_error();
  // Only part of the 256 MB was written: 256 KiB of credit, one item, and the bytes in gRPC's flow-control window,
  // which grows as gRPC measures the connection.
  EXPECT_LT(upload->written(), 1000);
  EXPECT_EQ(uploads.parcels, 1);
  EXPECT_FALSE(upload->has_ended());
}

TEST_F(GrpcClientUploadTest, TheAsksDeadlineEndsTheUploadAtBothEnds) {
  const desk::DeskRef desk = Client();
  EXPECT_EQ(Echo(desk, "connected")->text(), "connected");
  const Uploading upload = Collect(desk, {.parcels = 1, .end = UploadEnd::kStay, .timeout = absl::Milliseconds(500)});
  EXPECT_TRUE(IsExpired(upload->End())) << upload->End();
  if (uploads.parcels == 1) ExpectAtServer(/*broken=*/1, /*complete=*/0);  // it may expire on its way
}

TEST_F(GrpcClientUploadTest, UploadsCountAsCallsAndWaitInTheirMailboxWithoutItems) {
  const desk::DeskRef desk = Client({.calls_max = 1});
  const Uploading first = Collect(desk, {.parcels = 1, .end = UploadEnd::kStay});
  ASSERT_TRUE(Eventually([&] { return uploads.parcels == 1; }));
  const Uploading second = Converse(desk, {.parcels = 1, .write_within = absl::Milliseconds(100)});
  EXPECT_TRUE(Eventually([&] { return !second->write_error().ok(); }));
  EXPECT_TRUE(IsExpired(second->write_error())) << second->write_error();
  ASSERT_TRUE(second.asker.Send(UploadEnd::kFinish).ok());
  EXPECT_TRUE(IsExpired(Echo(desk, "waits", absl::Milliseconds(100)).status()));
  ASSERT_TRUE(first.asker.Send(UploadEnd::kFinish).ok());
  EXPECT_EQ(Echo(desk, "next")->text(), "next");
  EXPECT_TRUE(second->End().ok()) << second->End();
  ExpectAtServer(/*broken=*/0, /*complete=*/2);
}

TEST_F(GrpcClientUploadTest, TheItemThatGrpcHasNotTakenCountsInTheBytesOfRequests) {
  const desk::DeskRef desk = Client({.requests_bytes_max = 10'000});
  // Each item is beyond the bound alone, and nothing is left of it when it was taken.
  const Uploading all = Collect(desk, {.parcels = 20, .bytes = 20'000});
  EXPECT_TRUE(all->End().ok()) << all->End();
  EXPECT_EQ(Echo(desk, "next")->text(), "next");
  const Uploading held = Collect(desk, {.parcels = 4000, .bytes = 64 << 10, .special = StayingParcel()});
  ASSERT_TRUE(Eventually([&] { return uploads.stays == 1; }));
  EXPECT_TRUE(Eventually([&] { return IsExpired(Echo(desk, "waits", absl::Milliseconds(100)).status()); }));
  system.Kill(held.asker.pid());
  EXPECT_EQ(Echo(desk, "next")->text(), "next");
}

TEST_F(GrpcClientUploadTest, AServerWithoutTheRpcIsNoMailbox) {
  Front front({.exports = {Export<desk::AtticRef>("desk")}});
  const desk::DeskRef desk = Client({.target = front.gateway->addresses()[0]});
  const Uploading collected = Collect(desk, {.parcels = 100}), conversed = Converse(desk, {.parcels = 100});
  EXPECT_TRUE(IsNoMailbox(collected->End())) << collected->End();
  EXPECT_TRUE(IsNoMailbox(conversed->End())) << conversed->End();
}

TEST_F(GrpcClientUploadTest, AnUploadGoesThroughAGatewayToAnActor) {
  Front front;
  const desk::DeskRef desk = Client({.target = front.gateway->addresses()[0]});
  const Uploading collected = Collect(desk, {.parcels = 300, .bytes = 5'000});
  const Uploading conversed = Converse(desk, {.parcels = 300, .bytes = 5'000});
  EXPECT_TRUE(collected->End().ok()) << collected->End();
  EXPECT_EQ(collected->last(), "300 parcels");
  EXPECT_TRUE(conversed->End().ok()) << conversed->End();
  EXPECT_EQ(conversed->answers(), 300);
  EXPECT_EQ(front.events.complete, 2);
  desk::Parcel drops;
  drops.mutable_end()->set_drop(true);
  const Uploading dropped = Collect(desk, {.parcels = 2, .special = drops, .special_at = 1});
  EXPECT_TRUE(IsUnanswered(dropped->End())) << dropped->End();
}

}  // namespace
}  // namespace understudy

// A client actor of a plain gRPC service that is called from another node.
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/ask_handle.h"
#include "understudy/tests/transport/client/client_fixture.h"
#include "understudy/tests/transport/client/upload_fixture.h"
#include "understudy/tests/transport/client/uploader.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/desk.pb.h"
#include "understudy/tests/transport/gateway/front.h"
#include "understudy/tests/transport/gateway/started_node.h"
#include "understudy/transport/node.h"

namespace understudy {
namespace {

// The node "back" has the client, which this system, the node "caller", finds by its name.
class GrpcClientNodeTest : public GrpcClientUploadTest {
 protected:
  GrpcClientNodeTest() {
    back_node_ = StartedNode(back_, {.listen = "127.0.0.1:0"});
    node_ = StartedNode(system, {.listen = "", .peers = {{"back", back_node_->address()}}});
    back_.Spawn<DeskClient>(SpawnOptions{.published_as = "back/desk"}, GrpcClientOptions{.target = server.address()});
    const absl::StatusOr<desk::DeskRef> found = system.Lookup<desk::DeskRef>("back/desk", kWithin);
    EXPECT_TRUE(found.ok()) << found.status();
    desk = *found;
  }

  desk::DeskRef desk;

 private:
  ActorSystem back_{{.name = "back"}};
  std::unique_ptr<Node> back_node_;
  std::unique_ptr<Node> node_;
};

TEST_F(GrpcClientNodeTest, AsksAndTheirErrorsGoThroughTheClientsNode) {
  const absl::StatusOr<desk::Text> reply = Echo(desk, "hello");
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->text(), "hello");
  const absl::Status refused = Provoke(desk, static_cast<int>(absl::StatusCode::kPermissionDenied), "not you");
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(refused.message(), "not you");
}

TEST_F(GrpcClientNodeTest, AnAskThatIsCancelledOnItsNodeCancelsTheCall) {
  const Outcome outcome;
  const AskHandle asked = system.Ask(desk.wait(), TextOf(""), absl::Hours(1), outcome.Callback());
  ASSERT_TRUE(Eventually([&] { return server.counts.waits == 1; }));
  EXPECT_TRUE(asked.Cancel());
  EXPECT_TRUE(Eventually([&] { return server.counts.cancelled == 1; }));
}

TEST_F(GrpcClientNodeTest, TheItemsOfAStreamComeInOrderAndThenItsEnd) {
  const auto readings = std::make_shared<Readings>();
  system.Spawn<Reader>(desk, Items(3), size_t{10}, readings);
  ASSERT_TRUE(Eventually([&] { return readings->its_end().has_value(); }));
  EXPECT_TRUE(readings->its_end()->ok()) << *readings->its_end();
  EXPECT_EQ(readings->count(), 3U);
}

TEST_F(GrpcClientNodeTest, UploadsReachTheServerAndTheirAnswersComeBack) {
  const Uploading collected = Collect(desk, {.parcels = 200, .bytes = 5'000});
  const Uploading conversed = Converse(desk, {.parcels = 200, .bytes = 5'000});
  EXPECT_TRUE(collected->End().ok()) << collected->End();
  EXPECT_EQ(collected->last(), "200 parcels");
  EXPECT_TRUE(conversed->End().ok()) << conversed->End();
  EXPECT_EQ(conversed->answers(), 200);
  ExpectAtServer(/*broken=*/0, /*complete=*/2);
}

TEST_F(GrpcClientNodeTest, TheEndOfTheAskerOnItsNodeCancelsTheUpload) {
  const Uploading upload = Collect(desk, {.parcels = 1, .end = UploadEnd::kStay});
  ASSERT_TRUE(Eventually([&] { return uploads.parcels == 1; }));
  system.Kill(upload.asker.pid());
  ExpectAtServer(/*broken=*/1, /*complete=*/0);
}

}  // namespace
}  // namespace understudy

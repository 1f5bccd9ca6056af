// Tests of processes that pretend to be a process child, its parent, or one that its parent knows.
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/tests/transport/echo/echo_actor.h"
#include "understudy/tests/transport/processes/process_parent.h"
#include "understudy/tests/transport/processes/story.h"
#include "understudy/transport/node.h"
#include "understudy/transport/node_status.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kDeadline = Story::kDeadline;

class ProcessImpostorTest : public ProcessTest {
 protected:
  explicit ProcessImpostorTest(std::shared_ptr<Story> up = std::make_shared<Story>())
      : ProcessTest({.on_peer =
                         [up](const PeerEvent& event) {
                           if (event.kind == PeerEvent::Kind::kUp) up->Add(event.node);
                         }}),
        up_(std::move(up)) {}

  const std::shared_ptr<Story> up_;  // the peers with which a session has begun
};

// Each speaks over the inherited connection only.
TEST_F(ProcessImpostorTest, WhoPosesAsTheParentOrAsAChildOverAnotherConnectionIsRefused) {
  auto story = std::make_shared<Story>();
  Launch(TestNode("house-1", {"child"}), story);
  story->WaitFor(1);
  const std::string child = node_->Peers()[0].address;
  for (const auto& [name, peer, address] : {std::tuple("launcher", "house-1", child),  //
                                            std::tuple("house-1", "launcher", node_->address())}) {
    auto refused = std::make_shared<Story>();
    ActorSystem system({.name = name});
    const auto impostor =
        Node::Start(system, {.listen = "", .peers = {{peer, address}}, .on_peer = [refused](const PeerEvent& event) {
                               if (event.kind == PeerEvent::Kind::kRefused) refused->Add(event.detail);
                             }});
    ASSERT_TRUE(impostor.ok()) << impostor.status();
    EXPECT_THAT(refused->WaitFor(1)[0], HasSubstr("the connection that it came by is another node's"));
  }
  EXPECT_TRUE(system_.Ask(Find("echo/house-1").say(), Echo::Text(), kDeadline).ok());
}

TEST_F(ProcessImpostorTest, WhoHadTheNameOfAChildBeforeItStartsDoesNotKeepItOut) {
  ActorSystem system({.name = "house-1"});
  const auto earlier = Node::Start(system, {.listen = "", .peers = {{"launcher", node_->address()}}});
  ASSERT_TRUE(earlier.ok()) << earlier.status();
  EXPECT_EQ(up_->WaitFor(1)[0], "house-1");
  auto story = std::make_shared<Story>();
  Launch(TestNode("house-1", {"child"}), story);
  EXPECT_EQ(story->WaitFor(1)[0], "started");
  EXPECT_TRUE(system_.Ask(Find("echo/house-1").say(), Echo::Text(), kDeadline).ok());
  ASSERT_THAT(node_->Peers(), SizeIs(1));
  EXPECT_EQ(node_->Peers()[0].times.grace_period, absl::ZeroDuration());
}

// A process child's proxy believes what it is told, so a peer that found it by a name could speak in the child's place.
TEST_F(ProcessImpostorTest, TheProxyHasNoNameByWhichAPeerCouldFindIt) {
  auto story = std::make_shared<Story>();
  Launch(TestNode("house-1", {"child"}), story);
  story->WaitFor(1);
  EXPECT_THAT(system_.registry().List("understudy/"), IsEmpty());
}

}  // namespace
}  // namespace understudy

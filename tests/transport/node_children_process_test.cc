// Children on other nodes that are processes of their own, over gRPC.
#include <signal.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/transport/echo/echo_actor.h"
#include "understudy/transport/node.h"

namespace understudy {
namespace {

constexpr absl::Duration kDeadline = absl::Minutes(4);

Echo::Text Words(const std::string& words) {
  Echo::Text text;
  text.set_value(words);
  return text;
}

// The supervisor's events. Any thread.
class Events {
 public:
  void Hear(const SupervisionEvent& event) {
    absl::MutexLock lock(&mu_);
    events_.push_back(event);
  }
  // The `n`th event of that kind about that child, from 1 on.
  SupervisionEvent Await(const std::string& child, SupervisionEvent::Kind kind, int n) {
    absl::MutexLock lock(&mu_);
    SupervisionEvent found;
    const auto is_there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      int seen = 0;
      for (const SupervisionEvent& event : events_) {
        if (event.child != child || event.kind != kind || ++seen < n) continue;
        found = event;
        return true;
      }
      return false;
    };
    EXPECT_TRUE(mu_.AwaitWithTimeout(absl::Condition(&is_there), kDeadline)) << SupervisionEventName(kind) << " " << n;
    return found;
  }

 private:
  absl::Mutex mu_;
  std::vector<SupervisionEvent> events_ ABSL_GUARDED_BY(mu_);
};

class NodeChildrenProcessTest : public ::testing::Test {
 protected:
  NodeChildrenProcessTest() : system_({.name = "house", .log = &LogSink::Null()}) {
    absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system_);
    EXPECT_TRUE(node.ok()) << node.status();
    node_ = *std::move(node);
  }
  ~NodeChildrenProcessTest() override { system_.Shutdown(kDeadline); }

  std::string Say(Pid echo) {
    const absl::StatusOr<Echo::Text> answer = system_.Ask(EchoRef(echo).say(), Words("hello"), absl::Seconds(30));
    return answer.ok() ? answer->value() : answer.status().ToString();
  }

  std::shared_ptr<Events> events_ = std::make_shared<Events>();
  ActorSystem system_;
  std::unique_ptr<Node> node_;
};

TEST_F(NodeChildrenProcessTest, ASigkillMovesTheChildToAnotherProcess) {
  system_.Spawn(OneForOne()
                    .Intensity(5, absl::Hours(1))
                    .OnEvent([events = events_](const SupervisionEvent& event) { events->Hear(event); })
                    .Child("worker-1", Process("test_node", {"host"}).Temporary())
                    .Child("worker-2", Process("test_node", {"host"}).Temporary())
                    .Child("echo", Remote(OnAnyOf({"worker-1", "worker-2"}), "echo", Words("says"))
                                       .PublishedAs("echo")
                                       .ConnectWithin(absl::Minutes(1))));
  const Pid first = events_->Await("echo", SupervisionEvent::Kind::kStarted, 1).pid;
  EXPECT_EQ(Say(first), "worker-1 says hello");

  google::protobuf::Int32Value sigkill;
  sigkill.set_value(-SIGKILL);
  EchoRef(first).die().Tell(sigkill);
  EXPECT_EQ(events_->Await("worker-1", SupervisionEvent::Kind::kExited, 1).reason.os_value(), SIGKILL);
  EXPECT_EQ(events_->Await("echo", SupervisionEvent::Kind::kExited, 1).reason.kind(), ExitReason::Kind::kNoConnection);

  const Pid second = events_->Await("echo", SupervisionEvent::Kind::kStarted, 2).pid;
  EXPECT_EQ(Say(second), "worker-2 says hello");
  const absl::StatusOr<EchoRef> named = system_.Lookup<EchoRef>("echo", kDeadline);
  EXPECT_TRUE(named.ok() && named->pid() == second) << named.status();
  EchoRef(second).fail().Tell(Words("enough"));
  EXPECT_THAT(events_->Await("echo", SupervisionEvent::Kind::kExited, 2).reason.ToString(),
              ::testing::HasSubstr("DATA_LOSS: enough"));
  const Pid third = events_->Await("echo", SupervisionEvent::Kind::kStarted, 3).pid;
  EXPECT_EQ(Say(third), "worker-2 says hello");
}

}  // namespace
}  // namespace understudy

// The parent of a process child, and the base of the tests that start one.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_PROCESSES_PROCESS_PARENT_H_
#define UNDERSTUDY_TESTS_TRANSPORT_PROCESSES_PROCESS_PARENT_H_

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
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/spawner.h"
#include "understudy/tests/transport/echo/echo_actor.h"
#include "understudy/tests/transport/processes/story.h"
#include "understudy/transport/node.h"

namespace understudy {

// The parent of one process child; tells what happens to it.
class Parent final : public Actor {
 public:
  // `look`, if there is one, is told of when the proxy is gone.
  Parent(ProcessChild child, std::shared_ptr<Story> story, std::function<void()> look = nullptr)
      : child_(std::move(child)), story_(std::move(story)), look_(std::move(look)) {}

  StartResult Start() override {
    context().TrapExits([](const ExitEvent&) {});
    auto make = context().Spawner()->ForProcess(std::exchange(child_, {}));
    if (!make.ok()) return make.status();
    const Pid proxy = context().SpawnMade(SpawnOptions().OnOutcome(&Parent::Outcome), *make);
    monitor_ = context().Monitor(proxy, &Parent::Ended);
    if (look_ != nullptr) gone_ = context().MonitorUntilGone(proxy, [this](const Down&) { look_(); });
    proxy_ = proxy;
    return managing_;
  }

  struct KillIt {};
  struct StopIt {};
  Mailbox<"Kill", KillIt> kill{this};
  Mailbox<"Stop", StopIt> stop{this};

 private:
  void Outcome(const SpawnOutcome& outcome) {
    switch (outcome.kind) {
      case SpawnOutcome::Kind::kStarted:
        return story_->Add("started");
      case SpawnOutcome::Kind::kIgnored:
        return story_->Add("ignored");
      case SpawnOutcome::Kind::kFailed:
        return story_->Add(absl::StrCat("failed: ", outcome.reason.ToString()));
    }
  }
  void Ended(const Down& down) {
    story_->Add(absl::StrCat("down: ", down.reason.ToString(), down.reason.crash() == nullptr ? "" : "; it crashed"));
  }

  ProcessChild child_;
  const std::shared_ptr<Story> story_;
  Pid proxy_;
  const std::function<void()> look_;
  MonitorHandle monitor_;
  MonitorHandle gone_;
  Behavior managing_{"managing", On(kill, [this](const KillIt&) { context().Kill(proxy_); }),
                     On(stop, [this](const StopIt&) { context().RequestStop(proxy_); })};
};

// Looks a name up for a test.
class Finder final : public Actor {
 public:
  struct Found {
    absl::Mutex mu;
    absl::optional<absl::StatusOr<EchoRef>> ref ABSL_GUARDED_BY(mu);
  };
  Finder(std::string name, std::shared_ptr<Found> found) : name_(std::move(name)), found_(std::move(found)) {}
  StartResult Start() override { return Find(); }

 private:
  Task<> Find() {
    const auto looking = context().Lookup<EchoRef>(name_, Story::kDeadline);
    absl::StatusOr<EchoRef> ref = co_await looking;
    absl::MutexLock lock(&found_->mu);
    found_->ref = std::move(ref);
  }
  const std::string name_;
  const std::shared_ptr<Found> found_;
};

// Returns the beginning of a Down's text, such as "down: OsExit(7". The process's last lines follow there.
inline std::string EndOf(const ExitReason& reason) {
  std::string text = absl::StrCat("down: ", reason.ToString());
  text.pop_back();
  return text;
}

class ProcessTest : public ::testing::Test {
 protected:
  explicit ProcessTest(NodeOptions options = {}) : system_({.name = "launcher"}) {
    absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system_, std::move(options));
    EXPECT_TRUE(node.ok()) << node.status();
    node_ = *std::move(node);
  }

  static ProcessChild TestNode(const std::string& node, std::vector<std::string> arguments) {
    ProcessChild child;
    child.binary = "tests/transport/test_node";
    child.arguments = std::move(arguments);
    child.node_name = node;
    child.stop_within = absl::Seconds(20);
    return child;
  }
  Ref<Parent> Launch(const ProcessChild& child, const std::shared_ptr<Story>& story) {
    return system_.Spawn<Parent>(child, story);
  }
  EchoRef Find(const std::string& name) {
    auto found = std::make_shared<Finder::Found>();
    system_.Spawn<Finder>(name, found);
    absl::MutexLock lock(&found->mu);
    const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(found->mu) { return found->ref.has_value(); };
    EXPECT_TRUE(found->mu.AwaitWithTimeout(absl::Condition(&there), Story::kDeadline + Story::kDeadline));
    EXPECT_TRUE(found->ref.has_value() && found->ref->ok()) << (found->ref ? found->ref->status().ToString() : "");
    return found->ref.has_value() && found->ref->ok() ? **found->ref : EchoRef();
  }
  static void Die(EchoRef echo, int how) {
    google::protobuf::Int32Value message;
    message.set_value(how);
    echo.die().Tell(message);
  }

  ActorSystem system_;
  std::unique_ptr<Node> node_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_PROCESSES_PROCESS_PARENT_H_

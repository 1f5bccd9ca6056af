// A node for tests, in a process of its own.
//
//   test_node standalone NAME   a node; writes its address to descriptor 3
//   test_node child             a process child with an Echo
//   test_node relay NAME        a process child whose Echo asks another first
//   test_node holder FIFO       a process child that keeps a FIFO open
//   test_node launcher FIFO     a node whose process child is a holder
//   test_node deaf              a process child that hears neither its parent nor SIGTERM
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/spawner.h"
#include "understudy/tests/transport/echo_actor.h"
#include "understudy/transport/node.h"

namespace understudy {
namespace {

int Complain(const absl::Status& status) {
  fprintf(stderr, "test_node: %s\n", status.ToString().c_str());
  return 70;
}

int RunStandalone(const std::string& name) {
  // So that none is lost which comes before RunUntilSignal.
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  ActorSystem system({.name = name});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system);
  if (!node.ok()) return Complain(node.status());
  const EchoRef echo = system.Spawn<Echo>(SpawnOptions{.published_as = "echo"}, name);
  const std::string line = absl::StrCat((*node)->address(), "\n");
  if (write(3, line.data(), line.size()) < 0) return 71;
  return (*node)->RunUntilSignal(echo.pid());
}

int RunChild() {
  const std::string name = Node::GivenName("nobody");
  ActorSystem system({.name = name});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::FromParent(system);
  if (!node.ok()) return Complain(node.status());
  ActorSpec<EchoRef> echo = MakeActorSpec<Echo>(name);
  echo.options.published_as = absl::StrCat("echo/", name);
  return (*node)->RunTree(echo);
}

// Asks the Echo of that name, and answers with what it says.
class Relay final : public EchoActor {
 public:
  Relay(std::string greeting, std::string other) : greeting_(std::move(greeting)), other_(std::move(other)) {}
  Next Start() override { return relaying_; }

 private:
  Task<absl::StatusOr<Text>> Say(Text text) {
    const auto looking = context().Lookup<EchoRef>(other_, absl::Seconds(20));
    const absl::StatusOr<EchoRef> other = co_await looking;
    if (!other.ok()) co_return other.status();
    const auto asked = other->say().Ask(text, absl::Seconds(10));
    absl::StatusOr<Text> answer = co_await asked;
    if (!answer.ok()) co_return answer.status();
    answer->set_value(absl::StrCat(greeting_, " ", answer->value()));
    co_return *answer;
  }

  const std::string greeting_;
  const std::string other_;
  Behavior relaying_{"relaying", On(say, &Relay::Say), Drop(fail), Drop(die)};
};

int RunRelay(const std::string& other) {
  const std::string name = Node::GivenName("nobody");
  ActorSystem system({.name = name});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::FromParent(system);
  if (!node.ok()) return Complain(node.status());
  ActorSpec<EchoRef> relay = MakeActorSpec<Relay>(name, other);
  relay.options.published_as = absl::StrCat("echo/", name);
  return (*node)->RunTree(relay);
}

int RunHolder(const char* fifo) {
  ActorSystem system({.name = Node::GivenName("nobody")});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::FromParent(system);
  if (!node.ok()) return Complain(node.status());
  const int held = open(fifo, O_WRONLY | O_CLOEXEC);
  if (held < 0 || write(held, "up\n", 3) != 3) return 72;
  return (*node)->RunUntilSignal();
}

int RunDeaf() {
  ActorSystem system({.name = Node::GivenName("nobody")});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::FromParent(system);
  if (!node.ok()) return Complain(node.status());
  signal(SIGTERM, SIG_IGN);
  (*node)->Ready();
  while (true) pause();
}

// The parent of one process child.
class Launcher final : public Actor {
 public:
  explicit Launcher(ProcessChild child) : child_(std::move(child)) {}
  Next Start() override {
    auto make = context().Spawner()->ForProcess(child_);
    if (!make.ok()) return make.status();
    context().SpawnMade(SpawnOptions(), *make);
    return Behavior("launched", After(absl::Hours(1), [] {}));
  }

 private:
  ProcessChild child_;
};

int RunLauncher(const char* fifo) {
  ActorSystem system({.name = "launcher"});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system);
  if (!node.ok()) return Complain(node.status());
  const ProcessChild child = {
      .binary = "test_node", .arguments = {"holder", fifo}, .environment = {}, .node_name = "holder"};
  const auto launcher = system.Spawn<Launcher>(child);
  return (*node)->RunUntilSignal(launcher.pid());
}

int Run(int argc, char** argv) {
  const absl::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "standalone" && argc == 3) return RunStandalone(argv[2]);
  if (mode == "child") return RunChild();
  if (mode == "relay" && argc == 3) return RunRelay(argv[2]);
  if (mode == "holder" && argc == 3) return RunHolder(argv[2]);
  if (mode == "launcher" && argc == 3) return RunLauncher(argv[2]);
  if (mode == "deaf") return RunDeaf();
  return Complain(absl::InvalidArgumentError(absl::StrCat("no such mode: ", mode)));
}

}  // namespace
}  // namespace understudy

int main(int argc, char** argv) { return understudy::Run(argc, argv); }

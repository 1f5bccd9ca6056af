// A node for tests, in a process of its own.
//
//   test_node standalone NAME [LISTEN]   a node; writes its address to descriptor 3
//   test_node child             a process child with an Echo
//   test_node host              a process child that hosts children: an "echo", greeting as its argument says
//   test_node relay NAME        a process child whose Echo asks the actor NAME first
//   test_node holder FIFO       a process child that keeps a FIFO open
//   test_node launcher FIFO     a node whose process child is a holder
//   test_node crasher FILE N    a process child whose first N lives crash: the first as soon as there is a file
//                               named go in FILE's folder, the others at once
//   test_node tree FIFO…        a node that supervises a holder, a process child whose actor never returns, and a
//                               branch; the branch has the last three of the five FIFOs
//   test_node branch FIFO…      a process child that keeps a FIFO open and supervises two such process children
//   test_node slow FIFO         a process child whose stop takes until a byte is written to a FIFO
//   test_node stuck FIFO        a process child that keeps a FIFO open while its actor never returns
//   test_node brief             a process child that is started, and ends at once
//   test_node deaf              a process child that heeds neither its parent nor SIGTERM
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
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
#include "understudy/supervision/actor_factories.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/transport/echo/echo_actor.h"
#include "understudy/transport/child_host.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/node.h"
#include "understudy/transport/session_times.h"

namespace understudy {
namespace {

int Complain(const absl::Status& status) {
  fprintf(stderr, "test_node: %s\n", status.ToString().c_str());
  return 70;
}

int RunStandalone(const std::string& name, const std::string& listen, const SessionTimes& times = {}) {
  // Blocks SIGTERM, so that a signal that comes before RunUntilSignal is not lost.
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  ActorSystem system({.name = name});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system, {.listen = listen, .times = times});
  if (!node.ok()) return Complain(node.status());
  const EchoRef echo = system.Spawn<Echo>(SpawnOptions{.published_as = absl::StrCat(name, "/echo")}, name);
  const std::string line = absl::StrCat((*node)->address(), "\n");
  if (write(3, line.data(), line.size()) < 0) return 71;
  return (*node)->RunUntilSignal(echo.pid());
}

// Returns the options of a process child, which has a certificate if the environment names a folder of certificates.
NodeOptions ChildOptions(const std::string& name) {
  NodeOptions options;
  if (const char* folder = getenv("TEST_NODE_CERTIFICATES"); folder != nullptr) {
    options.credentials = Credentials::Tls({.certificate_file = absl::StrCat(folder, "/", name, ".pem"),
                                            .key_file = absl::StrCat(folder, "/", name, ".key"),
                                            .ca_file = absl::StrCat(folder, "/ca.pem")});
  }
  return options;
}

int RunChild() {
  const std::string name = Node::GivenName("nobody");
  ActorSystem system({.name = name});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::FromParent(system, ChildOptions(name));
  if (!node.ok()) return Complain(node.status());
  ActorSpec<EchoRef> echo = MakeActorSpec<Echo>(name);
  echo.options.published_as = absl::StrCat("echo/", name);
  return (*node)->RunTree(echo);
}

int RunHost() {
  ActorSystem system({.name = Node::GivenName("nobody")});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::FromParent(system);
  if (!node.ok()) return Complain(node.status());
  ActorFactories factories;
  factories.Add<Echo::Text>("echo", [name = system.name()](const Echo::Text& greeting) {
    return std::make_unique<Echo>(absl::StrCat(name, " ", greeting.value()));
  });
  return (*node)->RunTree(OneForOne().Child("host", Of(HostChildren(factories)).ShutdownWithoutLimit()));
}

// Asks the Echo named `other`, and answers with its answer.
class Relay final : public EchoActor {
 public:
  Relay(std::string greeting, std::string other) : greeting_(std::move(greeting)), other_(std::move(other)) {}
  StartResult Start() override { return relaying_; }

 private:
  using Text = Echo::Text;
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
  absl::StatusOr<std::unique_ptr<Node>> node = Node::FromParent(system, ChildOptions(name));
  if (!node.ok()) return Complain(node.status());
  ActorSpec<EchoRef> relay = MakeActorSpec<Relay>(name, other);
  relay.options.published_as = absl::StrCat("echo/", name);
  return (*node)->RunTree(relay);
}

// Until the process ends.
bool HoldOpen(const char* fifo) {
  const int held = open(fifo, O_WRONLY | O_CLOEXEC);
  return held >= 0 && write(held, "up\n", 3) == 3;
}

int RunHolder(const char* fifo) {
  ActorSystem system({.name = Node::GivenName("nobody")});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::FromParent(system);
  if (!node.ok()) return Complain(node.status());
  if (!HoldOpen(fifo)) return 72;
  return (*node)->RunUntilSignal();
}

// Whether there is such a file.
bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

[[noreturn]] void CrashWith(const std::string& words) {
  fprintf(stderr, "about to crash\n%s\n", words.c_str());
  signal(SIGSEGV, SIG_DFL);  // a sanitizer would catch it
  raise(SIGSEGV);
  _exit(73);
}

int RunCrasher(const std::string& path, int crashes) {
  // Each start writes a byte, so that the next knows its number.
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0 || write(file, "x", 1) != 1) return 74;
  const auto start = static_cast<int>(lseek(file, 0, SEEK_END));
  close(file);
  const bool is_crash = start > 1 && start <= crashes;
  if (is_crash && start % 2 == 0) CrashWith("before it has a node");
  ActorSystem system({.name = Node::GivenName("nobody")});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::FromParent(system);
  if (!node.ok()) return Complain(node.status());
  (*node)->Ready();
  if (is_crash) CrashWith("with a node");
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  if (start == 1 && crashes > 0) {
    while (!Exists(folder + "go")) poll(nullptr, 0, 1);
    if (!Exists(folder + "limits")) CrashWith("for the 1st time");
    rlimit files{};
    rlimit memory{};
    getrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_DATA, &memory);
    CrashWith(absl::StrCat("with ", files.rlim_max, " open files and ", memory.rlim_max, " bytes"));
  }
  return (*node)->RunUntilSignal();
}

// Does not come back from its handler.
class Stuck final : public Actor {
 public:
  Mailbox<"go", int> go{this};
  StartResult Start() override { return sticking_; }

 private:
  void Stick(int) {
    while (true) pause();
  }
  Behavior sticking_{"sticking", On(go, &Stuck::Stick)};
};

int RunStuck(const char* fifo) {
  ActorSystem system({.name = Node::GivenName("nobody")});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::FromParent(system);
  if (!node.ok()) return Complain(node.status());
  const auto stuck = system.Spawn<Stuck>();
  for (int i = 0; i < 2; ++i) stuck[&Stuck::go].Tell(1);
  if (!HoldOpen(fifo)) return 72;
  return (*node)->RunUntilSignal();
}

// Their ids are the names of their nodes.
SupervisorBuilder HolderAndStuck(const std::string& prefix, const char* well, const char* stuck) {
  return OneForAll()
      .Child(prefix + "well", Process("test_node", {"holder", well}))
      .Child(prefix + "stuck", Process("test_node", {"stuck", stuck}));
}

int RunTreeOfProcesses(char** fifos) {
  ActorSystem system({.name = "launcher"});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system);
  if (!node.ok()) return Complain(node.status());
  const SupervisorRef root =
      system.Spawn(HolderAndStuck("", fifos[0], fifos[1])
                       .Child("branch", Process("test_node", {"branch", fifos[2], fifos[3], fifos[4]})));
  return (*node)->RunUntilSignal(root.pid());
}

int RunBranch(char** fifos) {
  ActorSystem system({.name = Node::GivenName("nobody")});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::FromParent(system);
  if (!node.ok()) return Complain(node.status());
  if (!HoldOpen(fifos[0])) return 72;
  return (*node)->RunTree(HolderAndStuck("branch-", fifos[1], fifos[2]));
}

// Takes its time to stop: until somebody writes to the FIFO.
class Slow final : public Actor {
 public:
  explicit Slow(std::string fifo) : fifo_(std::move(fifo)) {}
  StartResult Start() override {
    context().TrapExits([](const ExitEvent&) {}, &Slow::Stopping);
    return Behavior("waiting", After(absl::InfiniteDuration(), [] {}));
  }

 private:
  void Stopping(const ExitEvent& exit) {
    const int fifo = open(fifo_.c_str(), O_RDONLY | O_CLOEXEC);  // blocks until there is a writer
    char byte = 0;
    if (fifo < 0 || read(fifo, &byte, 1) != 1) _exit(75);
    context().Stop(exit.reason);
  }
  const std::string fifo_;
};
int RunSlow(const char* fifo) {
  ActorSystem system({.name = Node::GivenName("nobody")});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::FromParent(system, {.drain_within = absl::Hours(1)});
  if (!node.ok()) return Complain(node.status());
  return (*node)->RunTree(OneForOne().Child("slow", Of<Slow>(std::string(fifo)).ShutdownWithoutLimit()));
}

int RunBrief() {
  ActorSystem system({.name = Node::GivenName("nobody")});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::FromParent(system);
  if (!node.ok()) return Complain(node.status());
  (*node)->Ready();
  (*node)->RequestStop();
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
  StartResult Start() override {
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
  if (mode == "standalone" && argc == 3) return RunStandalone(argv[2], NodeOptions().listen);
  if (mode == "standalone" && argc == 4) return RunStandalone(argv[2], argv[3]);
  if (mode == "standalone" && argc == 5) {
    return RunStandalone(argv[2], argv[3], {.grace_period = absl::Seconds(std::atoi(argv[4]))});
  }
  if (mode == "child") return RunChild();
  if (mode == "host") return RunHost();
  if (mode == "relay" && argc == 3) return RunRelay(argv[2]);
  if (mode == "holder" && argc == 3) return RunHolder(argv[2]);
  if (mode == "launcher" && argc == 3) return RunLauncher(argv[2]);
  if (mode == "brief") return RunBrief();
  if (mode == "deaf") return RunDeaf();
  if (mode == "crasher" && argc == 4) return RunCrasher(argv[2], std::atoi(argv[3]));
  if (mode == "stuck" && argc == 3) return RunStuck(argv[2]);
  if (mode == "tree" && argc == 7) return RunTreeOfProcesses(argv + 2);
  if (mode == "branch" && argc == 5) return RunBranch(argv + 2);
  if (mode == "slow" && argc == 3) return RunSlow(argv[2]);
  return Complain(absl::InvalidArgumentError(absl::StrCat("no such mode: ", mode)));
}

}  // namespace
}  // namespace understudy

int main(int argc, char** argv) { return understudy::Run(argc, argv); }

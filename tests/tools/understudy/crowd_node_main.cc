// A node with 10,000 actors, some of which crash and are restarted all the time, for the observer page's browser test.
// The id of one child contains HTML, which the page must show as text. The node ends when its standard input is closed.
//
//   crowd_node SOCKET
#include <iostream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/named.h"
#include "understudy/supervision/builders.h"
#include "understudy/transport/ops/ops.h"

namespace understudy {
namespace {

constexpr int kSupervisors = 100;
constexpr int kChildren = 100;      // per supervisor
constexpr int kCrashesPerTick = 3;  // each crash makes three events: exited, is restarted, started
constexpr absl::Duration kTick = absl::Milliseconds(10);
constexpr char kHostileId[] = "<img src=x onerror=\"document.title='owned'\">";

class Member final : public Actor {
 public:
  Mailbox<"crash", int> crash{this};
  StartResult Start() override { return working_; }

 private:
  Behavior working_{"working", On(crash, [this](int) { (void)Fail(absl::InternalError("told to crash")); })};
};

std::string NameOf(int number) { return absl::StrCat("member-", number); }

// Crashes members, one after another.
class Troublemaker final : public Actor {
 public:
  StartResult Start() override { return running_; }

 private:
  void Tick(const TimerEvent&) {
    for (int i = 0; i < kCrashesPerTick; ++i) {
      next_ = (next_ + 101) % (kSupervisors * kChildren);
      Named<Ref<Member>>(NameOf(next_)).Resolve()[&Member::crash].Tell(0);
    }
  }
  int next_ = 0;
  Behavior running_{"running", Every(kTick, [this](const TimerEvent& event) { Tick(event); })};
};

int Main(const std::string& socket) {
  ActorSystem system({.name = "crowd", .log = &LogSink::Null()});
  const absl::StatusOr<std::unique_ptr<Ops>> ops =
      Ops::Start(system, {.listen = absl::StrCat("unix:", socket), .actions = {OpsAction::kKill, OpsAction::kRestart}});
  if (!ops.ok()) {
    std::cerr << ops.status() << "\n";
    return 2;
  }
  SupervisorBuilder root = OneForOne();
  root.Child(kHostileId, Of<Member>());
  for (int i = 0; i < kSupervisors; ++i) {
    SupervisorBuilder group = OneForOne();
    group.Intensity(100'000, absl::Seconds(1));
    for (int k = 0; k < kChildren; ++k) {
      const std::string name = NameOf(i * kChildren + k);
      group.Child(name, Of<Member>().RegisteredAs(name));
    }
    root.Child(absl::StrCat("group-", i), Of(group));
  }
  root.Child("troublemaker", Of<Troublemaker>());
  if (const absl::Status valid = root.Validate(); !valid.ok()) {
    std::cerr << valid << "\n";
    return 2;
  }
  system.Spawn(root);
  std::cout << "started\n" << std::flush;
  std::string line;
  while (std::getline(std::cin, line)) {
  }
  return 0;
}

}  // namespace
}  // namespace understudy

int main(int argc, char** argv) { return argc == 2 ? understudy::Main(argv[1]) : 2; }

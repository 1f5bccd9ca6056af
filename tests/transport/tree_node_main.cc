// A node whose tree gives up, in a process of its own, for tests:
//
//   tree_node FOLDER [deaf]
//
// The ledger fails again and again, its supervisor gives up, and so does the root. Each actor writes its name to
// FOLDER/ends when it ends; the report goes to FOLDER/report. With `deaf` a sibling ignores that it is to stop.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
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
#include "understudy/actors/exit_reason.h"
#include "understudy/supervision/builders.h"
#include "understudy/transport/node.h"

namespace understudy {
namespace {

// Appends its name to a file when it ends in order.
class Clerk final : public Actor {
 public:
  Clerk(std::string name, std::string file) : name_(std::move(name)), file_(std::move(file)) {}
  StartResult Start() override {
    return Behavior("waiting", After(absl::InfiniteDuration(), [] {}));
  }
  void OnExit(const ExitReason& /*reason*/) override {
    const std::string line = absl::StrCat(name_, "\n");
    const int file = open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0 || write(file, line.data(), line.size()) < 0) fprintf(stderr, "cannot write %s\n", file_.c_str());
    close(file);
  }

 private:
  const std::string name_;
  const std::string file_;
};

// Runs for a moment, and then cannot go on.
class Ledger final : public Actor {
 public:
  StartResult Start() override {
    return Behavior("reading", After(absl::ZeroDuration(), [this] { Fail(absl::DataLossError("page 7 is torn")); }));
  }
};

class Deaf final : public Actor {
 public:
  StartResult Start() override {
    context().TrapExits([](const ExitEvent&) {}, [](const ExitEvent&) {});
    return Behavior("deaf", After(absl::InfiniteDuration(), [] {}));
  }
};

int Run(const std::string& folder, bool deaf) {
  ActorSystem system({.name = "house"});
  const std::string ends = absl::StrCat(folder, "/ends");
  if (deaf) system.Spawn<Deaf>();
  absl::StatusOr<std::unique_ptr<Node>> node =
      Node::Start(system, {.drain_within = absl::Seconds(1), .end_report = absl::StrCat(folder, "/report")});
  if (!node.ok()) return 70;
  return (*node)->RunTree(OneForOne()
                              .Intensity(0, absl::Seconds(10))
                              .Child("hall", Of<Clerk>("hall", ends))
                              .Child("book", Of<Clerk>("book", ends))
                              .Child("bank", Of(OneForOne()
                                                    .Intensity(2, absl::Seconds(10))
                                                    .Child("safe", Of<Clerk>("safe", ends))
                                                    .Child("ledger", Of<Ledger>()))));
}

}  // namespace
}  // namespace understudy

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  return understudy::Run(argv[1], argc > 2 && absl::string_view(argv[2]) == "deaf");
}

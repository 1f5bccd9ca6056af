// desk_node SOCKET: a node with a supervised clerk whose mailbox grows, for understudy_test.sh.
#include <iostream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/supervision/builders.h"
#include "understudy/transport/node.h"
#include "understudy/transport/ops/ops.h"

namespace understudy {
namespace {

// Handles no files until it gets `open`, which is never sent.
class Clerk final : public Actor {
 public:
  Mailbox<"file", int> file{this};
  Mailbox<"open", int> open{this};
  StartResult Start() override {
    for (int i = 0; i < 5; ++i) Ref<Clerk>(context().Self())[&Clerk::file].Tell(i);
    Ref<Clerk>()[&Clerk::file].Tell(6);  // becomes a dead letter
    return closed_;
  }

 private:
  Behavior open_{"open", On(file, [](int) {})};
  Behavior closed_{"closed", On(open, [this](int) { Become(open_); })};
};

// Crashes shortly after it has handled a message.
class Frail final : public Actor {
 public:
  Mailbox<"break", int> break_soon{this};
  StartResult Start() override {
    Ref<Frail>(context().Self())[&Frail::break_soon].Tell(1);
    return Behavior("frail", On(break_soon, [this](int) {
                      // The timer must not be zero, because it would then be due before the message.
                      Become(Behavior("breaking", After(absl::Milliseconds(1),
                                                        [this] { (void)Fail(absl::InternalError("frail")); })));
                    }));
  }
};

int Main(const std::string& socket) {
  // A crash report has the messages of the actor, on whichever worker it handled them.
  ActorSystem system({.name = "desk", .last_messages = 1});
  absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system, {.listen = ""});
  if (!node.ok()) return 2;
  const absl::StatusOr<std::unique_ptr<Ops>> ops = Ops::Start(
      system,
      {.listen = absl::StrCat("unix:", socket),
       .node = node->get(),
       .actions = {OpsAction::kKill, OpsAction::kRestart, OpsAction::kDrain, OpsAction::kSuspend, OpsAction::kTrace}});
  if (!ops.ok()) {
    std::cerr << ops.status() << "\n";
    return 2;
  }
  return (*node)->RunTree(OneForOne()
                              .Intensity(100, absl::Seconds(1))
                              .Child("clerk", Of<Clerk>().RegisteredAs("clerk"))
                              // This child crashes, is restarted at once, crashes again, and then waits until an
                              // operator restarts it.
                              .Child("frail", Of<Frail>().Backoff({.min = absl::Hours(1), .max = absl::Hours(1)})));
}

}  // namespace
}  // namespace understudy

int main(int argc, char** argv) { return argc == 2 ? understudy::Main(argv[1]) : 2; }

// Actors whose handlers take a time set by the test, in virtual time, and a fixture with a supervision tree that has
// such a child.
#ifndef UNDERSTUDY_TESTS_SUPERVISION_HOLDERS_H_
#define UNDERSTUDY_TESTS_SUPERVISION_HOLDERS_H_

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/test_system.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/supervision/workers.h"

namespace understudy {

struct Hold {
  absl::Duration time;
};

// Records its start and its destruction in the journal, and blocks in its handler for the time that a Hold asks for.
class Holder final : public Actor {
 public:
  Holder(TestSystem* system, MonotonicTime begin, std::shared_ptr<Journal> journal)
      : system_(system), begin_(begin), journal_(std::move(journal)) {}
  ~Holder() override { Note("gone"); }
  Mailbox<"hold", Hold> hold{this};
  StartResult Start() override {
    Note("start");
    return holding_;
  }

 private:
  void Note(const char* what) {
    journal_->Add(absl::StrCat(what, " at ", absl::FormatDuration(system_->Now() - begin_)));
  }
  void DoHold(const Hold& request) { system_->seeded_executor().HoldHere(request.time); }

  TestSystem* const system_;
  const MonotonicTime begin_;
  const std::shared_ptr<Journal> journal_;
  Behavior holding_{"holding", On(hold, &Holder::DoHold)};
};

struct Scene {
  explicit Scene(const ChildBuilder& child, std::shared_ptr<Journal> journal, TestSystem& system)
      : Scene(OneForOne().Child("holder", child), std::move(journal), system) {}
  // The holder is the first child of a supervisor. That supervisor may be the first child of another, and so on.
  Scene(const SupervisorBuilder& tree, std::shared_ptr<Journal> journal, TestSystem& system)
      : journal(std::move(journal)), system(system) {
    launcher = system.Spawn<Launcher>(tree, life);
    system.RunUntilIdle();
  }
  ChildInfo FirstOf(Pid supervisor) {
    const auto children = system.Ask(SupervisorRef(supervisor).which_children(), {}, absl::Seconds(1));
    return children.ok() ? children->children.at(0) : ChildInfo();
  }
  Pid Child() {
    ChildInfo child = FirstOf(life->pid());
    while (child.kind == ChildKind::kSupervisor) child = FirstOf(child.pid);
    return child.pid;
  }
  // Makes the child's handler run for `time`, and kills the child 10 ms after it began.
  void HoldAndKill(absl::Duration time) {
    const Pid pid = Child();
    Ref<Holder>(pid)[&Holder::hold].Tell(Hold{time});
    system.seeded_executor().RunAt(system.Now() + absl::Milliseconds(10), [this, pid] { system.Kill(pid); });
    system.RunUntilIdle();
  }
  std::shared_ptr<RootLife> life = std::make_shared<RootLife>();
  std::shared_ptr<Journal> journal;
  TestSystem& system;
  Ref<Launcher> launcher;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_SUPERVISION_HOLDERS_H_

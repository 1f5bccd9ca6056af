#include "understudy/examples/crash_lab/lab.h"

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/context.h"
#include "understudy/actors/error.h"
#include "understudy/actors/events.h"
#include "understudy/actors/pid.h"

namespace crash_lab {
namespace {

using understudy::ChildInfo;
using understudy::ChildKind;
using understudy::Children;
using understudy::ChildState;
using understudy::Pid;
using understudy::SupervisorRef;

// The time limit of one step, which may start processes on a loaded machine.
constexpr absl::Duration kPatience = absl::Seconds(60);
// A worker that does not answer a ping within this time counts as hanging.
constexpr absl::Duration kPingWithin = absl::Milliseconds(500);

// Tells the story when the root supervisor has ended.
class RootWatch final : public understudy::Actor {
 public:
  RootWatch(Pid root, Story* story) : root_(root), story_(story) {}
  understudy::StartResult Start() override {
    monitor_ = context().Monitor(root_, &RootWatch::Ended);
    return understudy::Behavior("watching", On(never, [](int) {}));
  }

 private:
  void Ended(const understudy::Down& down) { story_->RootEnded(down.reason); }
  understudy::Mailbox<"never", int> never{this};

  const Pid root_;
  Story* const story_;
  understudy::MonitorHandle monitor_;
};

}  // namespace

Lab::Lab(understudy::ActorSystem& system, const understudy::SupervisorSpec& tree, Story& story, std::ostream& out)
    : system_(system),
      story_(story),
      out_(out),
      root_(system.Spawn(understudy::MakeSupervisor(story.ToldBy(tree, "lab")))) {
  system_.Spawn<RootWatch>(root_.pid(), &story_);
}

absl::string_view Lab::Help() {
  return "  tree         prints the tree\n"
         "  throw NAME   an exception leaves its handler\n"
         "  fail NAME    its handler fails with a bad status\n"
         "  hang NAME    its handler does not return; when it does not answer it is killed\n"
         "  kill NAME    kills it, whatever it is doing\n"
         "  segv NAME    SIGSEGV in a process child\n"
         "  exit NAME    a process child exits with 3\n"
         "  stop NAME    asks its supervisor to stop it\n"
         "  start NAME   asks its supervisor to start it again\n"
         "  quit         stops everything, in order\n";
}

bool Lab::Do(absl::string_view line) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipWhitespace());
  if (words.empty() || words[0][0] == '#') return true;
  if (words[0] == "quit") return false;
  if (words[0] == "help") {
    out_ << Help();
  } else if (words[0] == "tree") {
    PrintTree(root_, 1);
  } else if (words.size() != 2) {
    out_ << "  a command is one word, and mostly a name: help lists them\n";
  } else {
    const absl::Status done = Run(words[0], words[1]);
    if (!done.ok()) out_ << "  " << done.message() << "\n";
    Settle();
  }
  PrintStory();
  return !story_.root_end().has_value();
}

absl::Status Lab::Run(absl::string_view verb, absl::string_view id) {
  if (verb == "throw") return Break(Breakage::THROW, id);
  if (verb == "fail") return Break(Breakage::FAIL, id);
  if (verb == "hang") return Break(Breakage::HANG, id);
  if (verb == "segv") return Break(Breakage::SEGV, id);
  if (verb == "exit") return Break(Breakage::EXIT, id);
  if (verb == "kill") return Kill(id);
  if (verb == "stop") return Stop(id);
  if (verb == "start") return Start(id);
  return absl::NotFoundError(absl::StrCat("there is no command '", verb, "'; help lists them"));
}

// ---- Looking.

absl::StatusOr<Children> Lab::ChildrenOf(SupervisorRef supervisor) {
  return system_.Ask(supervisor.which_children(), understudy::WhichChildren(), kPatience);
}

bool Lab::FindIn(SupervisorRef supervisor, absl::string_view id, Found& found) {
  const absl::StatusOr<Children> children = ChildrenOf(supervisor);
  if (!children.ok()) return false;
  return std::any_of(children->children.begin(), children->children.end(), [&](const ChildInfo& info) {
    if (info.id == id) {
      found = {.supervisor = supervisor, .info = info};
      return true;
    }
    return info.kind == ChildKind::kSupervisor && info.state == ChildState::kRunning &&
           FindIn(SupervisorRef(info.pid), id, found);
  });
}

absl::StatusOr<Lab::Found> Lab::Find(absl::string_view id) {
  Found found;
  if (!FindIn(root_, id, found)) return absl::NotFoundError(absl::StrCat("there is no child '", id, "'; try tree"));
  return found;
}

bool Lab::IsAtRest(SupervisorRef supervisor) {
  const absl::StatusOr<Children> children = ChildrenOf(supervisor);
  if (!children.ok()) return false;
  return std::all_of(children->children.begin(), children->children.end(), [&](const ChildInfo& info) {
    if (info.state != ChildState::kRunning) return info.state == ChildState::kStopped;
    return info.kind != ChildKind::kSupervisor || IsAtRest(SupervisorRef(info.pid));
  });
}

void Lab::Settle() {
  const absl::Time deadline = absl::Now() + kPatience;
  while (!story_.root_end().has_value()) {
    const int64_t seen = story_.told();
    if (IsAtRest(root_)) return;
    if (!story_.AwaitMore(seen, deadline)) {
      out_ << "  it has not come to rest within " << absl::FormatDuration(kPatience) << "\n";
      return;
    }
  }
}

void Lab::PrintTree(SupervisorRef supervisor, int depth) {
  const absl::StatusOr<Children> children = ChildrenOf(supervisor);
  if (!children.ok()) return;
  for (const ChildInfo& info : children->children) {
    out_ << std::string(static_cast<size_t>(depth) * 2, ' ') << info.id << ": " << ChildKindName(info.kind) << ", "
         << ChildStateName(info.state);
    if (info.restarts > 0) out_ << ", restarts: " << info.restarts;
    out_ << "\n";
    if (info.kind == ChildKind::kSupervisor && info.state == ChildState::kRunning) {
      PrintTree(SupervisorRef(info.pid), depth + 1);
    }
  }
}

void Lab::PrintStory() {
  for (const std::string& line : story_.Take()) out_ << "  " << line << "\n";
  out_.flush();
}

// ---- Breaking.

absl::StatusOr<LabWorkerRef> Lab::WorkerOf(const Found& found) {
  if (found.info.state != ChildState::kRunning) {
    return absl::FailedPreconditionError(absl::StrCat("'", found.info.id, "' does not run"));
  }
  if (found.info.kind == ChildKind::kWorker) return LabWorkerRef(found.info.pid);
  if (found.info.kind == ChildKind::kSupervisor) {
    return absl::InvalidArgumentError(absl::StrCat("'", found.info.id, "' is a supervisor: kill, stop or start it"));
  }
  absl::StatusOr<LabWorkerRef> worker = system_.Lookup<LabWorkerRef>(absl::StrCat("lab/", found.info.id), kPatience);
  if (understudy::IsNoName(worker.status())) return absl::NotFoundError("the process has published no worker");
  return worker;
}

absl::Status Lab::Break(Breakage::Kind kind, absl::string_view id) {
  const absl::StatusOr<Found> found = Find(id);
  if (!found.ok()) return found.status();
  const absl::StatusOr<LabWorkerRef> worker = WorkerOf(*found);
  if (!worker.ok()) return worker.status();
  if (found->info.kind != ChildKind::kProcess && (kind == Breakage::SEGV || kind == Breakage::EXIT)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", id, "' lives in the lab's own process, which would end with it: only for process children"));
  }
  Breakage how;
  how.set_kind(kind);
  worker->break_down().Tell(how);
  if (kind == Breakage::HANG) {
    const absl::Status hung = Hang(*found, *worker);
    if (!hung.ok()) return hung;
  }
  if (!story_.AwaitEndOf(found->info.pid, absl::Now() + kPatience)) {
    return absl::DeadlineExceededError(absl::StrCat("'", id, "' lives on"));
  }
  return absl::OkStatus();
}

absl::Status Lab::Hang(const Found& found, const LabWorkerRef& worker) {
  if (system_.Ask(worker.ping(), PingRequest(), kPingWithin).ok()) {
    return absl::InternalError(absl::StrCat("'", found.info.id, "' answers"));
  }
  out_ << "  '" << found.info.id << "' does not answer within " << absl::FormatDuration(kPingWithin)
       << ", and is killed\n";
  system_.Kill(found.info.pid);
  return absl::OkStatus();
}

absl::Status Lab::Kill(absl::string_view id) {
  const absl::StatusOr<Found> found = Find(id);
  if (!found.ok()) return found.status();
  if (found->info.state != ChildState::kRunning) {
    return absl::FailedPreconditionError(absl::StrCat("'", id, "' does not run"));
  }
  system_.Kill(found->info.pid);
  (void)story_.AwaitEndOf(found->info.pid, absl::Now() + kPatience);
  return absl::OkStatus();
}

absl::Status Lab::Stop(absl::string_view id) {
  const absl::StatusOr<Found> found = Find(id);
  if (!found.ok()) return found.status();
  understudy::TerminateChild request{.id = std::string(id)};
  return system_.Ask(found->supervisor.terminate_child(), request, kPatience).status();
}

absl::Status Lab::Start(absl::string_view id) {
  const absl::StatusOr<Found> found = Find(id);
  if (!found.ok()) return found.status();
  understudy::RestartChild request{.id = std::string(id)};
  return system_.Ask(found->supervisor.restart_child(), request, kPatience).status();
}

}  // namespace crash_lab

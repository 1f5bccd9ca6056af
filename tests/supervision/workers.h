// Workers for the tests of supervisors. A worker records its starts and ends in a Journal and does what the test tells
// it to.
#ifndef UNDERSTUDY_TESTS_SUPERVISION_WORKERS_H_
#define UNDERSTUDY_TESTS_SUPERVISION_WORKERS_H_

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/context.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/actors/crash_by.h"

namespace understudy {

// Journal: lines about starts and ends, in the order in which they happened. Any thread.
class Journal {
 public:
  void Add(std::string line) {
    absl::MutexLock lock(&mu_);
    lines_.push_back(std::move(line));
  }
  // Returns the lines since the last call, such as "start a, start b".
  std::string Take() {
    absl::MutexLock lock(&mu_);
    return absl::StrJoin(std::exchange(lines_, {}), ", ");
  }

 private:
  absl::Mutex mu_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mu_);
};

// Manner: how a worker behaves. All instances of a worker share one Manner, so that a test can change it between them.
struct Manner {
  absl::Status start_fails;  // the error with which the start fails, or OK
  bool start_declines = false;
  bool start_throws = false;
  bool start_hangs = false;  // its start hangs until the worker is told to finish or is stopped
  bool ignores_shutdown = false;
  absl::Duration stop_takes;  // how long it takes to stop after its parent's exit
};

struct Crash {};
struct End {
  ExitReason reason;
};
struct FinishStart {};

class Worker final : public Actor {
 public:
  Worker(std::string name, std::shared_ptr<Journal> journal,
         std::shared_ptr<Manner> manner = std::make_shared<Manner>())
      : name_(std::move(name)), journal_(std::move(journal)), manner_(std::move(manner)) {}

  Mailbox<"crash", Crash> crash{this};
  Mailbox<"end", End> end{this};
  Mailbox<"finish_start", FinishStart> finish_start{this};

  StartResult Start() override {
    journal_->Add(absl::StrCat("start ", name_));
    if (manner_->ignores_shutdown || manner_->stop_takes > absl::ZeroDuration()) {
      context().TrapExits([](const ExitEvent&) {}, &Worker::Stopping);
    }
    if (manner_->start_throws) CrashBy(context(), std::runtime_error(absl::StrCat(name_, " cannot")));
    if (!manner_->start_fails.ok()) return manner_->start_fails;
    if (manner_->start_declines) return StartResult::Ignore();
    return manner_->start_hangs ? StartResult::Starting(working_) : StartResult(working_);
  }
  void OnExit(const ExitReason& reason) override {
    journal_->Add(absl::StrCat("end ", name_, " ", ExitKindName(reason.kind())));
  }

 private:
  void DoCrash(const Crash&) { CrashBy(context(), std::logic_error(absl::StrCat(name_, " crashed"))); }
  void DoEnd(const End& end_request) { context().Stop(end_request.reason); }
  void DoFinishStart(const FinishStart&) { context().FinishStart(); }
  void Stopping(const ExitEvent& exit) {
    journal_->Add(absl::StrCat("asked ", name_));
    if (manner_->ignores_shutdown) return;
    const ExitReason reason = exit.reason;
    if (!context().StartTimer("stop", manner_->stop_takes, [this, reason] { context().Stop(reason); }).ok()) {
      context().Stop(reason);
    }
  }

  const std::string name_;
  const std::shared_ptr<Journal> journal_;
  const std::shared_ptr<Manner> manner_;
  Behavior working_{"working", On(crash, &Worker::DoCrash), On(end, &Worker::DoEnd),
                    On(finish_start, &Worker::DoFinishStart)};
};

// RootLife: the pid, the start and the end of a supervisor that a Launcher started. Any thread.
class RootLife {
 public:
  void set_pid(Pid pid) {
    absl::MutexLock lock(&mu_);
    pid_ = pid;
  }
  Pid pid() {
    absl::MutexLock lock(&mu_);
    return pid_;
  }
  void Started() {
    absl::MutexLock lock(&mu_);
    started_ = true;
  }
  bool has_started() {
    absl::MutexLock lock(&mu_);
    return started_;
  }
  void End(ExitReason reason) {
    absl::MutexLock lock(&mu_);
    end_ = std::move(reason);
  }
  bool has_ended() {
    absl::MutexLock lock(&mu_);
    return end_.has_value();
  }
  // Requires that the supervisor has ended.
  ExitReason end() {
    absl::MutexLock lock(&mu_);
    return end_.value();
  }

 private:
  absl::Mutex mu_;
  Pid pid_ ABSL_GUARDED_BY(mu_);
  bool started_ ABSL_GUARDED_BY(mu_) = false;
  absl::optional<ExitReason> end_ ABSL_GUARDED_BY(mu_);
};

// Starts a supervisor as its parent, and records its start and end in a RootLife.
class Launcher final : public Actor {
 public:
  Launcher(ActorSpec<SupervisorRef> spec, std::shared_ptr<RootLife> life)
      : spec_(std::move(spec)), life_(std::move(life)) {}

  // Sends the supervisor an exit signal as its parent.
  Mailbox<"exit", End> exit{this};

  StartResult Start() override {
    SpawnOptions options = spec_.options;
    options.link = SpawnLink::kUnlinked;
    const SupervisorRef root = context().Spawn(std::move(options).OnOutcome(&Launcher::Outcome), spec_);
    monitor_ = context().Monitor(root, &Launcher::Ended);
    life_->set_pid(root.pid());
    return launched_;
  }

 private:
  void Outcome(const SpawnOutcome& outcome) {
    if (outcome.kind == SpawnOutcome::Kind::kStarted) life_->Started();
  }
  void Ended(const Down& down) {
    life_->End(down.reason);
    context().Stop();
  }
  void DoExit(const End& request) { context().Exit(life_->pid(), request.reason); }

  const ActorSpec<SupervisorRef> spec_;
  const std::shared_ptr<RootLife> life_;
  MonitorHandle monitor_;
  Behavior launched_{"launched", On(exit, &Launcher::DoExit)};
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_SUPERVISION_WORKERS_H_

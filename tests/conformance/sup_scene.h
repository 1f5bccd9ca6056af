// SupScene: a supervision tree with which a scenario plays, under the seeded executor and on the thread pool.
//
//   TEST_P(SupTest, OnlyTheDeadChildIsReplaced) {
//     Play([](SupScene& s) {
//       s.Launch(OneForOne().Child("a", s.Perm("a")).Child("b", s.Perm("b")));
//       s.Crash("a");
//       s.Await("start a", 2);
//       EXPECT_EQ(s.Starts("b"), 1);
//     });
//   }
//
// Each SupervisionEvent is recorded as a line, such as "start a" or "exit a Killed". The lines of one supervisor are in
// order. The tree runs, and time passes, only while the scenario awaits something. A scenario must not assume that an
// event has happened that it has not awaited.
#ifndef UNDERSTUDY_TESTS_CONFORMANCE_SUP_SCENE_H_
#define UNDERSTUDY_TESTS_CONFORMANCE_SUP_SCENE_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/random.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/actors/crash_by.h"

namespace understudy {

// Chronicle: the lines that record what a tree has done. Any thread.
class Chronicle {
 public:
  explicit Chronicle(Executor& executor) : executor_(executor) {}

  void Hear(const SupervisionEvent& event) {
    using Kind = SupervisionEvent::Kind;
    static const auto* const words = new std::map<Kind, std::string>{
        {Kind::kStarted, "start"}, {Kind::kIgnored, "decline"},  {Kind::kStartFailed, "fail"},
        {Kind::kExited, "exit"},   {Kind::kRestarting, "again"}, {Kind::kBackoff, "later"},
        {Kind::kStopped, "stop"},  {Kind::kGaveUp, "give up"},   {Kind::kShutdown, "shutdown"},
        {Kind::kParked, "park"},   {Kind::kHeld, "hold"}};
    const bool has_reason =
        event.kind == Kind::kExited || event.kind == Kind::kStopped || event.kind == Kind::kShutdown;
    std::string line = words->at(event.kind);
    if (!event.child.empty()) absl::StrAppend(&line, " ", event.child);
    if (has_reason) absl::StrAppend(&line, " ", ExitKindName(event.reason.kind()));
    if (event.kind == Kind::kStarted) AddStart(event.child, event.pid);
    Add(std::move(line));
  }
  void Add(std::string line) {
    Executor& executor = executor_;
    {
      absl::MutexLock lock(&mu_);
      ++counts_[line];
      lines_.push_back(std::move(line));
    }
    executor.Notify();
  }

  std::vector<std::string> lines() {
    absl::MutexLock lock(&mu_);
    return lines_;
  }
  // Returns the lines that were added since the last call.
  std::string Take() {
    absl::MutexLock lock(&mu_);
    const size_t from = std::exchange(taken_, lines_.size());
    return absl::StrJoin(lines_.begin() + static_cast<std::ptrdiff_t>(from), lines_.end(), ", ");
  }
  int Count(const std::string& line) {
    absl::MutexLock lock(&mu_);
    const auto found = counts_.find(line);
    return found == counts_.end() ? 0 : found->second;
  }
  // Returns the pids of the child `id`, one for each start, in order.
  std::vector<Pid> PidsOf(const std::string& id) {
    absl::MutexLock lock(&mu_);
    return pids_[id];
  }

 private:
  void AddStart(const std::string& id, Pid pid) {
    absl::MutexLock lock(&mu_);
    pids_[id].push_back(pid);
  }

  Executor& executor_;
  absl::Mutex mu_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, int> counts_ ABSL_GUARDED_BY(mu_);
  size_t taken_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, std::vector<Pid>> pids_ ABSL_GUARDED_BY(mu_);
};

// Part: how a child of the tree behaves in each start, of which the first is attempt 1, and when it is stopped. Set it
// before the tree starts.
struct Part {
  enum class Start { kRuns, kDeclines, kFails, kThrows, kNeverEnds };
  std::function<Start(int attempt)> start = [](int) { return Start::kRuns; };
  bool ignores_shutdown = false;
  absl::Duration stop_takes;
  std::atomic<int> attempts{0};
};

inline Part::Start Declines(int /*attempt*/) { return Part::Start::kDeclines; }
inline Part::Start FailsAtFirst(int /*attempt*/) { return Part::Start::kFails; }
inline Part::Start FailsOnce(int attempt) { return attempt == 2 ? Part::Start::kFails : Part::Start::kRuns; }
inline Part::Start FailsFromTheSecondOn(int attempt) { return attempt > 1 ? Part::Start::kFails : Part::Start::kRuns; }

class Player final : public Actor {
 public:
  explicit Player(std::shared_ptr<Part> part) : part_(std::move(part)) {}

  Mailbox<"end", ExitReason> end{this};
  Mailbox<"crash", int> crash{this};

  StartResult Start() override {
    if (part_->ignores_shutdown || part_->stop_takes > absl::ZeroDuration()) {
      context().TrapExits([](const ExitEvent&) {}, &Player::Asked);
    }
    switch (part_->start(++part_->attempts)) {
      case Part::Start::kRuns:
        return playing_;
      case Part::Start::kDeclines:
        return StartResult::Ignore();
      case Part::Start::kFails:
        return absl::UnavailableError("the file is locked");
      case Part::Start::kThrows:
        CrashBy(context(), std::runtime_error("no file"));
        return playing_;
      case Part::Start::kNeverEnds:
        return StartResult::Starting(playing_);
    }
    return playing_;
  }

 private:
  void End(const ExitReason& reason) { context().Stop(reason); }
  void Crash(int) { CrashBy(context(), std::logic_error("crashed")); }
  void Asked(const ExitEvent& exit) {
    if (part_->ignores_shutdown) return;
    const ExitReason reason = exit.reason;
    ASSERT_TRUE(context().StartTimer("stop", part_->stop_takes, [this, reason] { context().Stop(reason); }).ok());
  }

  const std::shared_ptr<Part> part_;
  Behavior playing_{"playing", On(end, &Player::End), On(crash, &Player::Crash)};
};

// The parent of the tree that a scenario launches. It records the tree's spawn outcome as "launched", "declined" or
// "failed", and the tree's end as "over".
class Patron final : public Actor {
 public:
  // Any thread.
  struct Account {
    explicit Account(Executor& executor) : chronicle(executor) {}
    Chronicle chronicle;
    absl::Mutex mu;
    ExitReason end ABSL_GUARDED_BY(mu);
  };
  Patron(std::function<std::unique_ptr<Actor>()> make, std::shared_ptr<Account> account)
      : make_(std::move(make)), account_(std::move(account)) {}

  // Sends the tree an exit signal as its parent.
  Mailbox<"exit", ExitReason> exit{this};
  Mailbox<"who", Call<int, Pid>> who{this};

  StartResult Start() override {
    SpawnOptions options{.link = SpawnLink::kUnlinked, .shutdown_within = absl::InfiniteDuration()};
    launched_ = context().SpawnMade(std::move(options).OnOutcome(&Patron::Outcome), make_);
    monitor_ = context().Monitor(launched_, &Patron::Ended);
    return watching_;
  }

 private:
  void Outcome(const SpawnOutcome& outcome) {
    const char* const words[] = {"launched", "declined", "failed"};
    account_->chronicle.Add(words[static_cast<int>(outcome.kind)]);
  }
  void Ended(const Down& down) {
    {
      absl::MutexLock lock(&account_->mu);
      account_->end = down.reason;
    }
    account_->chronicle.Add("over");
    context().Stop();
  }
  void Exit(const ExitReason& reason) { context().Exit(launched_, reason); }
  Pid Who(int) { return launched_; }

  const std::function<std::unique_ptr<Actor>()> make_;
  const std::shared_ptr<Account> account_;
  Pid launched_;
  MonitorHandle monitor_;
  Behavior watching_{"watching", On(exit, &Patron::Exit), On(who, &Patron::Who)};
};

class SupScene {
 public:
  explicit SupScene(ActorSystem& system)
      : system_(system), account_(std::make_shared<Patron::Account>(system.executor())) {}
  // Ends the tree if it is still running, and waits until no actor is alive.
  ~SupScene() {
    if (account_->chronicle.Count("over") == 0) Shutdown();
    AwaitUntil([&] { return system_.live_actors() == 0; }, "actors are left");
  }
  SupScene(const SupScene&) = delete;
  SupScene& operator=(const SupScene&) = delete;

  ActorSystem& system() { return system_; }

  // Returns the part that children created with the name `name` play.
  std::shared_ptr<Part> PartOf(const std::string& name) {
    std::shared_ptr<Part>& part = parts_[name];
    if (part == nullptr) part = std::make_shared<Part>();
    return part;
  }
  ChildBuilder Perm(const std::string& name) { return understudy::Of<Player>(PartOf(name)); }
  ChildBuilder Trans(const std::string& name) { return understudy::Of<Player>(PartOf(name)).Transient(); }
  ChildBuilder Temp(const std::string& name) { return understudy::Of<Player>(PartOf(name)).Temporary(); }
  ChildBuilder Of(RestartType type, const std::string& name) {
    return type == RestartType::kPermanent ? Perm(name) : type == RestartType::kTransient ? Trans(name) : Temp(name);
  }

  // Returns an event listener that records supervision events.
  std::function<void(const SupervisionEvent&)> Hearer() {
    return [account = account_](const SupervisionEvent& event) { account->chronicle.Hear(event); };
  }
  // Starts the tree, and waits until it has started or failed to start.
  SupervisorRef Launch(SupervisorBuilder tree) {
    tree.OnEvent(Hearer());
    const ActorSpec<SupervisorRef> spec = tree;
    return SupervisorRef(LaunchMade(spec.make));
  }
  Pid LaunchMade(const std::function<std::unique_ptr<Actor>()>& make) {
    patron_ = system_.Spawn<Patron>(make, account_);
    Chronicle& lines = account_->chronicle;
    AwaitUntil(
        [&] {
          return lines.Count("launched") + lines.Count("declined") + lines.Count("failed") + lines.Count("over") > 0;
        },
        "no outcome of the launch");
    if (lines.Count("launched") == 0) return Pid();
    return Answer(system_.Ask(patron_[&Patron::who], 0, absl::Minutes(1)));
  }
  // Sends the root of the tree an exit signal of its parent.
  void ExitRoot(const ExitReason& reason = ExitReason::Shutdown()) { patron_[&Patron::exit].Tell(reason); }
  ExitReason AwaitEnd() {
    Await("over");
    absl::MutexLock lock(&account_->mu);
    return account_->end;
  }
  ExitReason Shutdown() {
    ExitRoot();
    return AwaitEnd();
  }

  void End(const std::string& id, const ExitReason& reason) { Ref<Player>(PidOf(id))[&Player::end].Tell(reason); }
  void Crash(const std::string& id) { Ref<Player>(PidOf(id))[&Player::crash].Tell(1); }
  void Kill(const std::string& id) { system_.Kill(PidOf(id)); }
  // Crashes the child and waits for its next start.
  void CrashAndAwait(const std::string& id) {
    const int before = Starts(id);
    Crash(id);
    Await(absl::StrCat("start ", id), before + 1);
  }

  // Adds a line to the chronicle. Any thread.
  void Note(std::string line) { account_->chronicle.Add(std::move(line)); }
  // Waits until the line has been recorded `times` times.
  void Await(const std::string& line, int times = 1) {
    AwaitUntil([&] { return account_->chronicle.Count(line) >= times; }, line);
  }
  int Count(const std::string& line) { return account_->chronicle.Count(line); }
  int Starts(const std::string& id) { return static_cast<int>(account_->chronicle.PidsOf(id).size()); }
  // Returns the lines that were recorded since the last call, such as "start a, start b".
  std::string Lines() { return account_->chronicle.Take(); }
  // Returns the child's pid since its last start, or null if it has not started yet.
  Pid PidOf(const std::string& id) {
    const std::vector<Pid> pids = account_->chronicle.PidsOf(id);
    return pids.empty() ? Pid() : pids.back();
  }
  SupervisorRef TreeOf(const std::string& id) { return SupervisorRef(Ref<Supervisor>(PidOf(id))); }
  bool IsAlive(Pid pid) { return !system_.AwaitEnd(pid, absl::ZeroDuration()).ok(); }

  // Returns the states of the children as text, such as "a running, b stopped".
  std::string States(SupervisorRef tree) {
    std::vector<std::string> states;
    for (const ChildInfo& child : Answer(system_.Ask(tree.which_children(), WhichChildren(), patience_)).children) {
      states.push_back(absl::StrCat(child.id, " ", ChildStateName(child.state)));
    }
    return absl::StrJoin(states, ", ");
  }
  ChildCounts Counts(SupervisorRef tree) {
    return Answer(system_.Ask(tree.count_children(), CountChildren(), patience_));
  }
  // Each of these methods asks the supervisor and returns its answer as text: "OK" or the status.
  std::string Add(SupervisorRef tree, const ChildSpec& spec) {
    return Text(system_.Ask(tree.start_child(), StartChild{spec}, patience_).status());
  }
  std::string Terminate(SupervisorRef tree, const std::string& id) {
    return Text(system_.Ask(tree.terminate_child(), TerminateChild{id}, patience_).status());
  }
  std::string Restart(SupervisorRef tree, const std::string& id) {
    return Text(system_.Ask(tree.restart_child(), RestartChild{id}, patience_).status());
  }
  std::string Delete(SupervisorRef tree, const std::string& id) {
    return Text(system_.Ask(tree.delete_child(), DeleteChild{id}, patience_).status());
  }
  absl::StatusOr<ChildSpec> SpecOf(SupervisorRef tree, const std::string& id) {
    return system_.Ask(tree.get_child_spec(), GetChildSpec{id}, patience_);
  }

  void AwaitUntil(absl::FunctionRef<bool()> done, const std::string& what) {
    const bool came = system_.executor().BlockUntil(done, system_.clock().Now() + patience_);
    EXPECT_TRUE(came) << what << "\n" << absl::StrJoin(account_->chronicle.lines(), ", ");
    if (!came) patience_ = absl::ZeroDuration();
  }

 private:
  // How long a scenario waits for one event. If that time passes, the scenario has failed and waits for no further
  // event.
  absl::Duration patience_ = absl::Minutes(1);

  template <class T>
  static T Answer(absl::StatusOr<T> answer) {
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *std::move(answer) : T();
  }
  static std::string Text(const absl::Status& status) { return status.ok() ? "OK" : status.ToString(); }

  ActorSystem& system_;
  const std::shared_ptr<Patron::Account> account_;
  std::map<std::string, std::shared_ptr<Part>> parts_;
  Ref<Patron> patron_;
};

enum class Stage { kSeeds, kThreads };

class SupTest : public testing::TestWithParam<Stage> {
 protected:
  static constexpr int kSeedRounds = 100;
  static constexpr int kThreadRounds = 20;

  void Play(absl::FunctionRef<void(SupScene&)> scenario, int seeds = kSeedRounds, int rounds = kThreadRounds) {
    if (GetParam() == Stage::kSeeds) {
      ForEachSeed(seeds, [&](uint64_t seed) {
        TestSystem system(seed);
        {
          SupScene scene(system);
          scenario(scene);
        }
        ExpectNothingLost(system);
      });
      return;
    }
    ActorSystemOptions options;
    options.threads.threads = 4;
    options.log = &LogSink::Null();
    ActorSystem system(options);
    for (int round = 0; round < RoundsOf(rounds) && !testing::Test::HasFailure(); ++round) {
      SCOPED_TRACE(round);
      SupScene scene(system);
      scenario(scene);
    }
    EXPECT_TRUE(system.Shutdown(absl::Seconds(30)));
    EXPECT_TRUE(system.Ledger().balances()) << system.Ledger().ToString();
  }
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_CONFORMANCE_SUP_SCENE_H_

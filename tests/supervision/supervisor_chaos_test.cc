// One supervisor whose children start, stop and fail in every way and in every state, while other actors send it
// requests, take the children's names and kill children. Under every seed:
//
// - a query is answered at once, whatever other work is in progress, and each request is answered once;
// - the live actors are those of the children that the supervisor reports as starting, running or stopping;
// - after the last failure, no child stays starting, stopping or waiting; each child that is reported as running has a
//   live actor; and if there were no requests, every permanent child is running;
// - a running child has its name;
// - the supervisor and all children end when the supervisor is told to stop.
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/context.h"
#include "understudy/actors/error.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/actors/task.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/actors/crash_by.h"
#include "understudy/tests/supervision/workers.h"

namespace understudy {
namespace {

constexpr int kSeeds = 1500;
constexpr int kSteps = 60;

// How a child behaves. Each life reads it when it starts and when it is asked to stop.
struct Mood {
  enum class Start { kRuns, kFails, kThrows, kDeclines, kHangs, kDies, kTakesTime };
  enum class Stop { kStops, kIgnores, kTakesTime, kEndsNormally, kFails };
  Start start = Start::kRuns;
  Stop stop = Stop::kStops;
  int starts_left = 0;  // the number of starts that behave as `start` says; later starts succeed

  Start NextStart() {
    if (starts_left == 0) return Start::kRuns;
    --starts_left;
    return start;
  }
};

class Child final : public Actor {
 public:
  using Living = std::map<Pid, std::string>;
  Child(std::string id, std::shared_ptr<Mood> mood, Living* living)
      : id_(std::move(id)), mood_(std::move(mood)), living_(living) {}
  ~Child() override { living_->erase(self_); }

  Mailbox<"end", End> end{this};
  Mailbox<"finish", FinishStart> finish{this};

  StartResult Start() override {
    self_ = context().Self();
    living_->emplace(self_, id_);
    context().TrapExits([](const ExitEvent&) {}, &Child::Asked);
    switch (mood_->NextStart()) {
      case Mood::Start::kRuns:
        return being_;
      case Mood::Start::kFails:
        return absl::UnavailableError("not now");
      case Mood::Start::kThrows:
        CrashBy(context(), std::runtime_error("no"));
        return being_;
      case Mood::Start::kDeclines:
        return StartResult::Ignore();
      case Mood::Start::kHangs:
        return StartResult::Starting(being_);
      case Mood::Start::kDies:
        context().Stop(ExitReason::Shutdown());
        return being_;
      case Mood::Start::kTakesTime:
        if (!context().StartTimer("start", absl::Milliseconds(3), [this] { context().FinishStart(); }).ok()) break;
        return StartResult::Starting(being_);
    }
    return being_;
  }

 private:
  void DoEnd(const End& request) { context().Stop(request.reason); }
  void DoFinish(const FinishStart&) { context().FinishStart(); }
  void Asked(const ExitEvent& exit) {
    const ExitReason reason = exit.reason;
    switch (mood_->stop) {
      case Mood::Stop::kStops:
        return context().Stop(reason);
      case Mood::Stop::kIgnores:
        return;
      case Mood::Stop::kTakesTime:
        (void)context().StartTimer("stop", absl::Milliseconds(2), [this, reason] { context().Stop(reason); });
        return;
      case Mood::Stop::kEndsNormally:
        return context().Stop(ExitReason::Normal());
      case Mood::Stop::kFails:
        return context().Stop(ExitReason::Failed(absl::DataLossError("while it stopped")));
    }
  }

  const std::string id_;
  const std::shared_ptr<Mood> mood_;
  Living* const living_;
  Pid self_;
  Behavior being_{"being", On(end, &Child::DoEnd), On(finish, &Child::DoFinish)};
};

// Sends requests to a supervisor, and counts the answers.
class Client final : public Actor {
 public:
  struct Counts {
    int asked = 0;
    int answered = 0;
    int late = 0;
  };
  Client(SupervisorRef supervisor, uint64_t what, ChildSpec spec, Counts* counts)
      : supervisor_(supervisor), what_(what), spec_(std::move(spec)), counts_(counts) {}
  StartResult Start() override { return Ask(); }

 private:
  static constexpr absl::Duration kLong = absl::Hours(20);
  Task<> Ask() {
    ++counts_->asked;
    absl::Status status;
    if (what_ == 0) {
      const auto asked = supervisor_.start_child().Ask(StartChild{spec_}, kLong);
      status = (co_await asked).status();
    } else if (what_ == 1) {
      const auto asked = supervisor_.terminate_child().Ask(TerminateChild{spec_.id}, kLong);
      status = (co_await asked).status();
    } else if (what_ == 2) {
      const auto asked = supervisor_.restart_child().Ask(RestartChild{spec_.id}, kLong);
      status = (co_await asked).status();
    } else {
      const auto asked = supervisor_.delete_child().Ask(DeleteChild{spec_.id}, kLong);
      status = (co_await asked).status();
    }
    ++counts_->answered;
    if (IsExpired(status)) ++counts_->late;
  }
  const SupervisorRef supervisor_;
  const uint64_t what_;
  const ChildSpec spec_;
  Counts* const counts_;
};

class Chaos {
 public:
  explicit Chaos(uint64_t seed) : random_(seed), has_requests_(random_.Below(2) == 0), system_(seed) {}

  void Run() {
    SupervisorBuilder tree(static_cast<RestartStrategy>(random_.Below(3)));
    tree.Intensity(limits::kRestartIntensityMax, absl::Hours(1));
    const uint64_t children = 1 + random_.Below(5);
    for (uint64_t i = 0; i < children; ++i) {
      const std::string id(1, static_cast<char>('a' + i));
      tree.Child(id, NewChild(id));
    }
    ASSERT_EQ(tree.Validate(), absl::OkStatus());
    auto life = std::make_shared<RootLife>();
    const Ref<Launcher> launcher = system_.Spawn<Launcher>(tree, life);
    if (random_.Below(2) == 0) system_.RunUntilIdle();
    for (int i = 0; i < 50 && life->pid().is_null(); ++i) system_.RunUntilIdle();
    root_ = SupervisorRef(Ref<Supervisor>(life->pid()));
    for (int i = 0; i < kSteps && !life->has_ended(); ++i) {
      Step();
      if (!life->has_ended()) Look(life);
    }
    const bool ends_in_chaos = random_.Below(3) == 0;
    if (!ends_in_chaos) {
      CalmDown();
      if (!life->has_ended()) CheckCalm();
    }
    if (random_.Below(2) == 0) {
      launcher[&Launcher::exit].Tell(End{ExitReason::Shutdown()});
    } else {
      system_.RequestStop(life->pid());
    }
    if (ends_in_chaos) {
      for (int i = 0; i < 5; ++i) Step();
      for (const auto& rival : rivals_) system_.Kill(rival.second);
    }
    // Children without a shutdown limit that ignored their stop would block the supervisor's end for ever.
    for (auto& [id, mood] : moods_) mood->stop = Mood::Stop::kStops;
    for (const auto& [pid, id] : Living(living_)) system_.Exit(pid, ExitReason::Killed());
    for (int i = 0; i < 100 && !life->has_ended(); ++i) {
      system_.Advance(absl::Seconds(1));
      for (const auto& [pid, id] : Living(living_)) (void)Ref<Child>(pid)[&Child::end].Send(End{});
    }
    system_.Advance(absl::Hours(21));
    ASSERT_TRUE(life->has_ended());
    ASSERT_EQ(system_.live_actors(), 0);
    ASSERT_TRUE(living_.empty());
    ASSERT_EQ(counts_.answered, counts_.asked);
    ASSERT_EQ(counts_.late, 0);
  }

 private:
  using Living = Child::Living;

  ChildBuilder NewChild(const std::string& id) {
    auto& mood = moods_[id];
    if (mood == nullptr) mood = std::make_shared<Mood>();
    const uint64_t type = random_.Below(4);
    ChildBuilder child = type == 0   ? Of<Child>(id, mood, &living_).Temporary()
                         : type == 1 ? Of<Child>(id, mood, &living_).Transient()
                                     : Of<Child>(id, mood, &living_);

    switch (random_.Below(5)) {
      case 0:
        child.BrutalKill();
        break;
      case 1:
        child.ShutdownWithin(absl::Nanoseconds(1));
        break;
      case 2:
        child.ShutdownWithin(absl::Milliseconds(2));
        break;
      default:
        break;
    }
    if (random_.Below(3) == 0) child.StartWithin(absl::Milliseconds(random_.Below(2) == 0 ? 3 : 5));
    if (random_.Below(3) == 0) child.RegisteredAs(absl::StrCat("name of ", id));
    if (type != 0 && random_.Below(3) == 0) {
      child.Backoff({.min = absl::Milliseconds(1 + random_.Below(4)), .reset_after = absl::Milliseconds(5)});
    }
    return child;
  }

  std::string AnyId() { return std::string(1, "abcdexy"[random_.Below(has_requests_ ? 7 : 5)]); }

  void Step() {
    switch (random_.Below(9)) {
      case 0:
      case 1:
        StrikeOne();
        break;
      case 2:  // two events before the affected actors run
        StrikeOne();
        StrikeOne();
        break;
      case 3:
        if (has_requests_) Request();
        break;
      case 4:
        if (auto found = moods_.find(AnyId()); found != moods_.end()) {
          found->second->start = static_cast<Mood::Start>(random_.Below(7));
          found->second->starts_left = 1 + static_cast<int>(random_.Below(3));
          if (!has_requests_ && found->second->start == Mood::Start::kDeclines) {
            found->second->start = Mood::Start::kRuns;  // a child that declines would stay stopped
          }
        }
        break;
      case 5:
        if (auto found = moods_.find(AnyId()); found != moods_.end()) {
          found->second->stop = static_cast<Mood::Stop>(random_.Below(5));
        }
        break;
      case 6:
        Rival();
        break;
      default:
        // Advances time to about when the timers above are due, or by a longer random time.
        system_.Advance(random_.Below(3) == 0 ? absl::Nanoseconds(random_.Below(3))
                                              : absl::Milliseconds(random_.Below(8)));
        break;
    }
    if (random_.Below(2) == 0) system_.RunUntilIdle();
  }

  void StrikeOne() {
    if (living_.empty()) return;
    auto victim = living_.begin();
    std::advance(victim, static_cast<std::ptrdiff_t>(random_.Below(living_.size())));
    const Pid pid = victim->first;
    switch (random_.Below(6)) {
      case 0:
        return system_.Kill(pid);
      case 1:
        (void)Ref<Child>(pid)[&Child::finish].Send(FinishStart());
        return;
      case 2:
        (void)Ref<Child>(pid)[&Child::end].Send(End{ExitReason::Normal()});
        return;
      case 3:
        (void)Ref<Child>(pid)[&Child::end].Send(End{ExitReason::NameLost("name of " + victim->second)});
        return;
      default:
        (void)Ref<Child>(pid)[&Child::end].Send(End{ExitReason::Failed(absl::DataLossError("disk"))});
    }
  }

  void Request() {
    const std::string id = AnyId();
    const uint64_t what = random_.Below(4);
    const ChildSpec spec = what == 0 ? NewChild(id).Spec(id) : ChildSpec{.id = id};
    system_.Spawn<Client>(root_, what, spec, &counts_);
  }

  // Another actor takes a child's name, or an actor that has taken it is killed.
  void Rival() {
    const std::string name = "name of " + AnyId();
    if (const auto found = rivals_.find(name); found != rivals_.end()) {
      system_.Kill(found->second);
      rivals_.erase(found);
      return;
    }
    auto mood = std::make_shared<Mood>();
    rivals_[name] = system_.Spawn<Child>(SpawnOptions{.registered_as = name}, "rival", mood, &rival_lives_).pid();
  }

  // Checks that a query is answered without any time passing, and that the answer contains all live children.
  void Look(const std::shared_ptr<RootLife>& life) {
    if (random_.Below(4) != 0) return;
    const auto before = system_.Now();
    const absl::StatusOr<Children> children = system_.Ask(root_.which_children(), WhichChildren(), absl::Seconds(1));
    if (!children.ok() && life->has_ended()) return;
    ASSERT_TRUE(children.ok()) << children.status();
    ASSERT_EQ(system_.Now(), before);
    system_.RunUntilIdle();
    if (life->has_ended()) return;
    const absl::StatusOr<Children> idle = system_.Ask(root_.which_children(), WhichChildren(), absl::Seconds(1));
    if (!idle.ok()) return;
    size_t said = 0;
    for (const ChildInfo& child : idle->children) {
      const bool is_up = child.state == ChildState::kStarting || child.state == ChildState::kRunning ||
                         child.state == ChildState::kStopping;
      said += is_up ? 1 : 0;
      ASSERT_EQ(is_up, !child.pid.is_null()) << child.id;
      ASSERT_EQ(is_up, living_.contains(child.pid)) << child.id << " is said to be " << ChildStateName(child.state);
    }
    ASSERT_EQ(living_.size(), said) << "more children are alive than it reports";
  }

  void CalmDown() {
    for (auto& [id, mood] : moods_) *mood = Mood();
    for (const auto& [name, rival] : rivals_) system_.Kill(rival);
    for (int i = 0; i < 30; ++i) {
      for (const auto& [pid, id] : Living(living_)) (void)Ref<Child>(pid)[&Child::finish].Send(FinishStart());
      system_.Advance(absl::Seconds(1));
    }
    system_.Advance(absl::Hours(1));
  }

  void CheckCalm() {
    const absl::StatusOr<Children> children = system_.Ask(root_.which_children(), WhichChildren(), absl::Seconds(1));
    ASSERT_TRUE(children.ok()) << children.status();
    size_t running = 0;
    for (const ChildInfo& child : children->children) {
      ASSERT_TRUE(child.state == ChildState::kRunning || child.state == ChildState::kStopped)
          << child.id << " is " << ChildStateName(child.state);
      if (child.state == ChildState::kRunning) ++running;
      if (!has_requests_ && child.restart == RestartType::kPermanent) {
        ASSERT_EQ(child.state, ChildState::kRunning) << child.id;
      }
      ASSERT_EQ(child.state == ChildState::kRunning, living_.contains(child.pid)) << child.id;
      const absl::StatusOr<ChildSpec> spec =
          system_.Ask(root_.get_child_spec(), GetChildSpec{child.id}, absl::Seconds(1));
      ASSERT_TRUE(spec.ok()) << spec.status();
      if (child.state != ChildState::kRunning || spec->registered_as.empty()) continue;
      ASSERT_EQ(system_.WhereIs(spec->registered_as), child.pid) << child.id;
    }
    ASSERT_EQ(living_.size(), running);
    ASSERT_EQ(counts_.answered, counts_.asked);
  }

  Random random_;
  const bool has_requests_;
  Living living_;
  Living rival_lives_;
  std::map<std::string, std::shared_ptr<Mood>> moods_;
  std::map<std::string, Pid> rivals_;
  Client::Counts counts_;
  TestSystem system_;
  SupervisorRef root_;
};

TEST(SupervisorChaos, NothingHangsAndNobodyIsForgottenUnderEverySeed) {
  ForEachSeed(kSeeds, [](uint64_t seed) { Chaos(seed).Run(); });
}

}  // namespace
}  // namespace understudy

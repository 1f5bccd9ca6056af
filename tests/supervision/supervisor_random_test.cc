// Random trees of supervisors, four levels deep and with 200 actors, under random kills, crashes and ends at random
// times, with starts and stops that take time. Under every seed:
//
// - no orphans: an actor whose parent has ended is also ending, and has ended when its shutdown timeout expires;
// - children are stopped in the reverse of their start order;
// - the restarts counted within a period never exceed the intensity;
// - each death is reported once, and a supervisor that was not killed reports the deaths of all its children;
// - all actors end when the root ends.
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/context.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/sanitized.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/supervision/workers.h"

namespace understudy {
namespace {

constexpr uint64_t kSeeds = kIsSanitized ? 500 : 2000;
constexpr uint64_t kBlocks = 20;
constexpr int kActors = 200;
constexpr int kDepth = 4;
constexpr int kBlows = 30;
constexpr absl::Duration kLeafStopsWithin = absl::Seconds(1);

// How a leaf behaves in all its lives.
struct Habit {
  bool cannot_start = false;
  bool ignores_shutdown = false;
  absl::Duration start_takes;
  absl::Duration stop_takes;
};

// The live leaves, and the parent of each. One thread.
using LiveLeaves = std::map<Pid, Pid>;

class Leaf final : public Actor {
 public:
  Leaf(std::shared_ptr<Habit> habit, LiveLeaves* alive) : habit_(std::move(habit)), alive_(alive) {}
  ~Leaf() override { alive_->erase(self_); }

  Mailbox<"end", End> end{this};

  StartResult Start() override {
    self_ = context().Self();
    alive_->emplace(self_, context().Parent());
    if (habit_->ignores_shutdown || habit_->stop_takes > absl::ZeroDuration()) {
      context().TrapExits([](const ExitEvent&) {}, &Leaf::Asked);
    }
    if (habit_->cannot_start) return absl::UnavailableError("for a while");
    if (habit_->start_takes == absl::ZeroDuration()) return living_;
    absl::Status armed = context().StartTimer("start", habit_->start_takes, [this] { context().FinishStart(); });
    return armed.ok() ? StartResult::Starting(living_) : StartResult(std::move(armed));
  }

 private:
  void DoEnd(const End& request) { context().Stop(request.reason); }
  void Asked(const ExitEvent& exit) {
    if (habit_->ignores_shutdown) return;
    const ExitReason reason = exit.reason;
    if (!context().StartTimer("stop", habit_->stop_takes, [this, reason] { context().Stop(reason); }).ok()) {
      context().Stop(reason);
    }
  }

  const std::shared_ptr<Habit> habit_;
  LiveLeaves* const alive_;
  Pid self_;
  Behavior living_{"living", On(end, &Leaf::DoEnd)};
};

// Reports the ends of actors to `on_down`.
class Watcher final : public Actor {
 public:
  explicit Watcher(std::function<void(const Down&)> on_down) : on_down_(std::move(on_down)) {}
  Mailbox<"watch", Pid> watch{this, {.capacity_messages = 100000}};
  StartResult Start() override { return watching_; }

 private:
  void Watch(Pid pid) {
    handles_.push_back(context().Monitor(pid, [this](const Down& down) { on_down_(down); }));
  }
  const std::function<void(const Down&)> on_down_;
  std::vector<MonitorHandle> handles_;
  Behavior watching_{"watching", On(watch, &Watcher::Watch)};
};

class RandomTree {
 public:
  using Counts = std::map<SupervisionEvent::Kind, int>;

  // Adds to `counts` how often each kind of event was reported.
  RandomTree(uint64_t seed, Counts& counts) : random_(seed), system_(seed), counts_(counts) {}

  void Run() {
    watcher_ = system_.Spawn<Watcher>([this](const Down& down) { SupervisorEnded(down); });
    const auto tree = Tree(kDepth, kActors).Intensity(10, absl::Seconds(2));
    ASSERT_EQ(tree.Validate(), absl::OkStatus());
    auto life = std::make_shared<RootLife>();
    const Ref<Launcher> launcher = system_.Spawn<Launcher>(tree, life);
    for (int i = 0; i < 1000 && !life->has_started(); ++i) system_.Advance(absl::Seconds(1));
    ASSERT_TRUE(life->has_started());
    ASSERT_EQ(system_.live_actors(), kActors + 2);
    for (int i = 0; i < kBlows && !life->has_ended() && !testing::Test::HasFailure(); ++i) {
      Strike();
      system_.Advance(absl::Milliseconds(random_.Below(2000)));
      CheckNobodyIsOrphaned();
    }
    launcher[&Launcher::exit].Tell(End{ExitReason::Shutdown()});
    for (int i = 0; i < 1000 && !life->has_ended(); ++i) system_.Advance(absl::Seconds(1));
    ASSERT_TRUE(life->has_ended());
    // The children of a killed supervisor may still use their shutdown timeouts.
    system_.Advance(kActors * kLeafStopsWithin);
    ASSERT_EQ(system_.live_actors(), 1) << "the watcher only";
    for (const auto& [pid, reign] : reigns_) CheckIntensity(reign);
  }

 private:
  // The position of a supervisor in the tree.
  struct Seat {
    int intensity = 0;
    absl::Duration period;
    std::map<std::string, int> order;  // start order of its children
  };
  // The state of one supervisor according to its events.
  struct Reign {
    const Seat* seat = nullptr;
    Pid parent;
    std::set<Pid> up;
    std::vector<MonotonicTime> counted;
    int last_stopped = std::numeric_limits<int>::max();
    bool is_stopping = false;
    absl::optional<MonotonicTime> end;
  };

  // Returns a tree of `actors` actors, including its supervisor.
  SupervisorBuilder Tree(int depth, int actors) {
    Seat& seat = seats_.emplace_back();
    seat.intensity = 1 + static_cast<int>(random_.Below(5));
    seat.period = absl::Seconds(1 + random_.Below(5));
    if (depth == kDepth) {
      seat.intensity = 10;
      seat.period = absl::Seconds(2);
    }
    SupervisorBuilder builder(static_cast<RestartStrategy>(random_.Below(3)));
    builder.Intensity(seat.intensity, seat.period).OnEvent([this, &seat](const SupervisionEvent& event) {
      Hear(seat, event);
    });
    int left = actors - 1;
    int number = 0;
    const int share = left / (2 + static_cast<int>(random_.Below(3)));
    while (left > 0) {
      std::string id = absl::StrCat("c", ++number);
      seat.order[id] = number;
      if (depth > 1 && left >= share && share >= 2 && (number == 1 || random_.Below(3) == 0)) {
        builder.Child(std::move(id),
                      random_.Below(2) == 0 ? Of(Tree(depth - 1, share)) : Of(Tree(depth - 1, share)).Transient());
        left -= share;
      } else {
        builder.Child(std::move(id), RandomLeaf());
        --left;
      }
    }
    return builder;
  }

  ChildBuilder RandomLeaf() {
    auto habit = std::make_shared<Habit>();
    habit->ignores_shutdown = random_.Below(20) == 0;
    if (random_.Below(4) == 0) habit->stop_takes = absl::Milliseconds(random_.Below(1500));
    if (random_.Below(4) == 0) habit->start_takes = absl::Milliseconds(random_.Below(300));
    habits_.push_back(habit);
    ChildBuilder leaf = random_.Below(3) == 0   ? Of<Leaf>(habit, &alive_).Temporary()
                        : random_.Below(2) == 0 ? Of<Leaf>(habit, &alive_).Transient()
                                                : Of<Leaf>(habit, &alive_);
    leaf.ShutdownWithin(kLeafStopsWithin);
    if (random_.Below(8) == 0) leaf.BrutalKill();
    if (leaf.Spec("").restart != RestartType::kTemporary && random_.Below(2) == 0) {
      leaf.Backoff({.min = absl::Milliseconds(50), .reset_after = absl::Seconds(5)});
    }
    return leaf;
  }

  // Applies a few random faults to live actors and to later starts.
  void Strike() {
    if (random_.Below(6) == 0) {
      Habit& habit = *habits_[random_.Below(habits_.size())];
      habit.cannot_start = !habit.cannot_start;
    }
    for (uint64_t blows = 1 + random_.Below(4); blows > 0; --blows) {
      if (random_.Below(5) == 0) {
        KillASupervisor();
      } else if (!alive_.empty()) {
        StrikeALeaf();
      }
      if (random_.Below(2) == 0) system_.RunUntilIdle();
    }
  }

  void KillASupervisor() {
    std::vector<Pid> living;
    for (const auto& [pid, reign] : reigns_) {
      // The root is not killed, because its end would end the whole tree.
      if (!reign.end.has_value() && reigns_.contains(reign.parent)) living.push_back(pid);
    }
    if (!living.empty()) system_.Kill(living[random_.Below(living.size())]);
  }

  void StrikeALeaf() {
    auto victim = alive_.begin();
    std::advance(victim, static_cast<std::ptrdiff_t>(random_.Below(alive_.size())));
    const ExitReason reasons[] = {ExitReason::Normal(), ExitReason::Shutdown(),
                                  ExitReason::Failed(absl::DataLossError("disk"))};
    const uint64_t how = random_.Below(5);
    if (how < 3) {
      (void)Ref<Leaf>(victim->first)[&Leaf::end].Send(End{reasons[how]});
    } else {
      system_.Kill(victim->first);
    }
  }

  void Hear(const Seat& seat, const SupervisionEvent& event) {
    using Kind = SupervisionEvent::Kind;
    ++counts_[event.kind];
    const auto [found, is_new] = reigns_.try_emplace(event.supervisor);
    Reign& reign = found->second;
    if (is_new) {
      reign.seat = &seat;
      watcher_[&Watcher::watch].Tell(event.supervisor);
    }
    switch (event.kind) {
      case Kind::kStarted:
        EXPECT_TRUE(reign.up.insert(event.pid).second) << event << ", twice";
        parents_[event.pid] = event.supervisor;
        break;
      case Kind::kExited:
        EXPECT_EQ(reign.up.erase(event.pid), 1u) << event;
        break;
      case Kind::kStopped: {
        const bool was_starting = reign.up.erase(event.pid) == 0;
        const int place = seat.order.at(event.child);
        // A start that is in progress began after the earlier stops.
        EXPECT_TRUE(was_starting || place < reign.last_stopped) << event << " after one that was started before it";
        reign.last_stopped = place;
        break;
      }
      case Kind::kRestarting:
        EXPECT_FALSE(reign.is_stopping) << event << " while it stops";
        reign.counted.push_back(event.time);
        break;
      case Kind::kBackoff:
        EXPECT_FALSE(reign.is_stopping) << event << " while it stops";
        break;
      case Kind::kShutdown:
        EXPECT_FALSE(reign.is_stopping) << event << ", twice";
        reign.is_stopping = true;
        break;
      default:
        break;
    }
    const bool is_death =
        event.kind == Kind::kExited || event.kind == Kind::kStopped || event.kind == Kind::kStartFailed;
    if (is_death && !event.pid.is_null()) {
      EXPECT_TRUE(dead_.insert(event.pid).second) << event << ", twice";
    }
    // The children that stop next belong to another restart.
    if (event.kind == Kind::kStarted || event.kind == Kind::kStartFailed || event.kind == Kind::kIgnored) {
      reign.last_stopped = std::numeric_limits<int>::max();
    }
  }

  void SupervisorEnded(const Down& down) {
    Reign& reign = reigns_.at(down.pid);
    reign.end = system_.Now();
    if (down.reason.kind() == ExitReason::Kind::kKilled) return;  // a killed supervisor cannot have reported all deaths
    EXPECT_TRUE(reign.up.empty()) << reign.up.size() << " children of " << down.pid << " ended without a report";
  }

  void CheckNobodyIsOrphaned() {
    for (const auto& [leaf, parent] : alive_) {
      const auto found = reigns_.find(parent);
      if (found == reigns_.end() || !found->second.end.has_value()) continue;
      EXPECT_LE(system_.Now() - *found->second.end, kLeafStopsWithin) << leaf << " outlives its parent";
    }
    for (auto& [pid, reign] : reigns_) {
      if (reign.end.has_value()) continue;
      if (const auto found = parents_.find(pid); found != parents_.end()) reign.parent = found->second;
      const auto parent = reigns_.find(reign.parent);
      if (parent == reigns_.end() || !parent->second.end.has_value()) continue;
      EXPECT_TRUE(reign.is_stopping) << pid << " runs on without its parent";
    }
  }

  static void CheckIntensity(const Reign& reign) {
    const auto allowed = static_cast<size_t>(reign.seat->intensity);
    for (size_t i = allowed; i < reign.counted.size(); ++i) {
      ASSERT_GT(reign.counted[i] - reign.counted[i - allowed], reign.seat->period);
    }
  }

  Random random_;
  LiveLeaves alive_;
  std::list<Seat> seats_;
  std::vector<std::shared_ptr<Habit>> habits_;
  std::map<Pid, Reign> reigns_;
  std::map<Pid, Pid> parents_;  // according to their events
  std::set<Pid> dead_;
  TestSystem system_;
  Ref<Watcher> watcher_;
  Counts& counts_;
};

class SupervisorRandom : public testing::TestWithParam<uint64_t> {};

TEST_P(SupervisorRandom, KeepsItsPromisesUnderEverySeed) {
  const absl::optional<uint64_t> only = SeedFromEnvironment();
  if (only.has_value() && GetParam() != 0) GTEST_SKIP() << "the first block runs the one seed that is set";
  RandomTree::Counts counts;
  const uint64_t seeds = RoundsOf(kSeeds / kBlocks);
  const uint64_t first = only.value_or(GetParam() * seeds + 1);
  const uint64_t last = only.value_or(first + seeds - 1);
  for (uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE(absl::StrCat("--test_env=UNDERSTUDY_SEED=", seed));
    RandomTree(seed, counts).Run();
    if (testing::Test::HasFailure()) return;
  }
  if (only.has_value()) return;
  // Each kind of event has occurred often enough, so the seeds cover all of them.
  using Kind = SupervisionEvent::Kind;
  for (const Kind kind : {Kind::kStarted, Kind::kStartFailed, Kind::kExited, Kind::kRestarting, Kind::kBackoff,
                          Kind::kStopped, Kind::kGaveUp, Kind::kShutdown}) {
    EXPECT_GT(counts[kind], kIsSanitized ? 5 : 100) << SupervisionEventName(kind);
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, SupervisorRandom, testing::Range<uint64_t>(0, kBlocks));

}  // namespace
}  // namespace understudy

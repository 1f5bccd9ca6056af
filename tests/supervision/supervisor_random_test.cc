// Random trees under random crashes, kills and ends, one seed after another. In
// the end nobody is left; on the way no child lives without its supervisor, and
// whoever runs again was told of once.
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/actors/test_system.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/supervision/workers.h"

namespace understudy {
namespace {

constexpr uint64_t kSeeds = 500;
constexpr int kBlows = 40;
constexpr int kDepth = 3;

class RandomTree {
 public:
  using Counts = std::map<SupervisionEvent::Kind, int>;

  // Adds to `counts` how often each kind of event was told.
  RandomTree(uint64_t seed, Counts& counts) : random_(seed), system_(seed), counts_(counts) {}

  void Run() {
    auto life = std::make_shared<RootLife>();
    const Ref<Launcher> launcher = system_.Spawn<Launcher>(
        Tree(kDepth).Intensity(10, absl::Seconds(2)).OnEvent([this](const SupervisionEvent& e) { Hear(e); }), life);
    system_.RunUntilIdle();
    for (int i = 0; i < kBlows && !life->has_ended(); ++i) {
      Strike();
      if (random_.Below(2) == 0) system_.Advance(absl::Milliseconds(random_.Below(3000)));
    }
    launcher[&Launcher::exit].Tell(End{ExitReason::Shutdown()});
    for (int i = 0; i < 100 && !life->has_ended(); ++i) system_.Advance(absl::Seconds(10));
    system_.Advance(absl::Seconds(10));
    ASSERT_TRUE(life->has_ended());
    ASSERT_EQ(system_.live_actors(), 0) << "orphans";
    ASSERT_TRUE(up_.empty() || is_killed_supervisor_) << up_.size() << " children ended, and nobody was told";
  }

 private:
  SupervisorBuilder Tree(int depth) {
    SupervisorBuilder builder(static_cast<RestartStrategy>(random_.Below(3)));
    builder.Intensity(1 + static_cast<int>(random_.Below(5)), absl::Seconds(1 + random_.Below(5)));
    const uint64_t children = 1 + random_.Below(4);
    for (uint64_t i = 0; i < children; ++i) {
      if (depth > 1 && random_.Below(3) == 0) {
        builder.Child(absl::StrCat("s", i), Inner(Tree(depth - 1)));
      } else {
        builder.Child(absl::StrCat("w", i), RandomWorker());
      }
    }
    return builder;
  }

  ChildBuilder Inner(const SupervisorBuilder& tree) {
    return random_.Below(2) == 0 ? Permanent(tree) : Transient(tree);
  }

  ChildBuilder RandomWorker() {
    auto manner = std::make_shared<Manner>();
    manner->ignores_shutdown = random_.Below(10) == 0;
    if (random_.Below(4) == 0) manner->stop_takes = absl::Milliseconds(random_.Below(2000));
    manners_.push_back(manner);
    ChildBuilder worker = random_.Below(3) == 0   ? Temporary<Worker>("w", journal_, manner)
                          : random_.Below(2) == 0 ? Transient<Worker>("w", journal_, manner)
                                                  : Permanent<Worker>("w", journal_, manner);
    if (random_.Below(5) == 0) worker.BrutalKill();
    if (worker.Spec("").restart != RestartType::kTemporary && random_.Below(2) == 0) {
      worker.Backoff({.min = absl::Milliseconds(50), .reset_after = absl::Seconds(5)});
    }
    return worker;
  }

  // Something happens to one of those that are up, or to a later start.
  void Strike() {
    if (random_.Below(12) == 0 && !manners_.empty()) {
      Manner& manner = *manners_[random_.Below(manners_.size())];
      manner.start_fails = manner.start_fails.ok() ? absl::UnavailableError("for a while") : absl::OkStatus();
    }
    if (up_.empty()) return;
    auto victim = up_.begin();
    std::advance(victim, static_cast<std::ptrdiff_t>(random_.Below(up_.size())));
    const Ref<Worker> worker(victim->first);
    switch (random_.Below(3)) {
      case 0:
        (void)worker[&Worker::crash].Send(Crash());  // a supervisor has no such mailbox
        break;
      case 1:
        (void)worker[&Worker::end].Send(End{ExitReason::Normal()});
        break;
      default:
        is_killed_supervisor_ |= victim->second[0] == 's';
        system_.Kill(victim->first);
    }
    if (random_.Below(3) != 0) system_.RunUntilIdle();
  }

  void Hear(const SupervisionEvent& event) {
    ++counts_[event.kind];
    switch (event.kind) {
      case SupervisionEvent::Kind::kStarted:
        ASSERT_TRUE(up_.emplace(event.pid, event.child).second) << event << ", twice";
        break;
      case SupervisionEvent::Kind::kExited:
      case SupervisionEvent::Kind::kStopped:
        // A start that was stopped was never told of as started.
        ASSERT_TRUE(up_.erase(event.pid) == 1 || event.kind == SupervisionEvent::Kind::kStopped) << event;
        ASSERT_TRUE(down_.insert({event.pid, true}).second) << event << ", twice";
        break;
      default:
        break;
    }
  }

  Random random_;
  TestSystem system_;
  Counts& counts_;
  std::shared_ptr<Journal> journal_ = std::make_shared<Journal>();
  std::vector<std::shared_ptr<Manner>> manners_;
  std::map<Pid, std::string> up_;
  std::map<Pid, bool> down_;
  // A killed supervisor tells nothing of its children.
  bool is_killed_supervisor_ = false;
};

TEST(SupervisorRandom, NoOrphansAndEachDeathIsToldOnceUnderEverySeed) {
  RandomTree::Counts counts;
  uint64_t first = 1;
  uint64_t last = kSeeds;
  if (const char* seed = std::getenv("UNDERSTUDY_SEED"); seed != nullptr && absl::SimpleAtoi(seed, &first))
    last = first;
  for (uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE(absl::StrCat("--test_env=UNDERSTUDY_SEED=", seed));
    RandomTree(seed, counts).Run();
    if (testing::Test::HasFatalFailure()) return;
  }
  if (first == last) return;
  // The seeds have reached what they are for.
  using Kind = SupervisionEvent::Kind;
  for (const Kind kind : {Kind::kStarted, Kind::kStartFailed, Kind::kExited, Kind::kRestarting, Kind::kBackoff,
                          Kind::kStopped, Kind::kGaveUp, Kind::kShutdown}) {
    EXPECT_GT(counts[kind], 100) << SupervisionEventName(kind);
  }
}

}  // namespace
}  // namespace understudy

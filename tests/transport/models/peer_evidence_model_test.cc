// PeerEvidence, explored together with a peer of which the model knows whether it lives. Streams break and come back,
// the process ends, its listening socket is replaced or closed for good, and dials and the pidfd report these late or
// out of order. The test repeats what EvidenceWatch does: it has one dial under way, and ignores the outcome of a dial
// that began before the last stream that carried the session.
//
// A peer that lives is never proved dead, nor is one whose stream still carries the session. A dead peer whose death
// this machine can know is proved dead in the end. Each rule is left out once, and the model finds it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/fault_point.h"
#include "understudy/transport/sockets/peer_evidence.h"

namespace understudy::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

enum class Step : uint8_t {
  kDies,
  kClosesItsSocket,  // and lives: only where a pidfd tells of its end
  kBreaks,
  kCarriesAgain,
  kPidfdTells,
  kDialFindsIt,
  kDialIsRefused,
  kOutcomeComes,
  kLaterOutcomeComes,  // before the one that began first
};
constexpr Step kSteps[] = {Step::kDies,          Step::kClosesItsSocket, Step::kBreaks,
                           Step::kCarriesAgain,  Step::kPidfdTells,      Step::kDialFindsIt,
                           Step::kDialIsRefused, Step::kOutcomeComes,    Step::kLaterOutcomeComes};

struct Outcome {
  int life;
  bool is_refused;
};

struct World {
  bool has_address = false;
  bool has_process = false;
  bool lives = true;
  bool listens = true;
  bool is_carried = true;
  bool was_told = false;      // by the pidfd
  bool was_replaced = false;  // the last dial of this stream fell between two listening sockets
  bool is_dialling = false;   // for this stream
  int breaks_left = 3;
  int life = 1;
  std::vector<Outcome> outcomes;  // on their way
  PeerEvidence evidence;
  MonotonicTime now;
};

class Explorer {
 public:
  // `heeds_late_outcomes` is a rule left out.
  explicit Explorer(bool heeds_late_outcomes = false) : heeds_late_outcomes_(heeds_late_outcomes) {}

  // The first failure, or nothing.
  std::string Explore(size_t depth) {
    for (const bool has_address : {false, true}) {
      for (const bool has_process : {false, true}) {
        World world{.has_address = has_address, .has_process = has_process};
        world.evidence.OnCarried(has_address, has_process);
        Visit(world, depth, absl::StrCat(has_address ? "an address" : "", has_process ? " a pidfd" : "", ":"));
      }
    }
    return failure_;
  }
  int64_t histories() const { return histories_; }

 private:
  void Visit(const World& world, size_t depth, const std::string& path) {
    if (!failure_.empty()) return;
    ++histories_;
    if (world.evidence.is_proved() && world.lives) failure_ = absl::StrCat(path, " a peer that lives is proved dead");
    if (world.evidence.is_proved() && world.is_carried) failure_ = absl::StrCat(path, " while a stream carries");
    // The proof has been reported; nothing more is explored after it.
    if (world.evidence.is_proved()) return;
    if (depth == 0) return CheckEnd(world, path);
    for (const Step step : kSteps) {
      World next = world;
      if (Do(next, step)) Visit(next, depth - 1, absl::StrCat(path, " ", static_cast<int>(step)));
    }
  }

  // False when it is not possible now.
  bool Do(World& world, Step step) const {
    world.now = world.now + absl::Seconds(1);
    switch (step) {
      case Step::kDies:
        if (!world.lives) return false;
        world.lives = world.listens = false;
        return true;
      case Step::kClosesItsSocket:
        if (!world.lives || !world.listens || !world.has_process) return false;
        world.listens = false;
        return true;
      case Step::kBreaks:
        if (!world.is_carried || world.breaks_left == 0) return false;
        --world.breaks_left;
        world.is_carried = false;
        world.evidence.OnBroken(world.now);
        return true;
      case Step::kCarriesAgain:
        if (world.is_carried || !world.lives) return false;
        world.is_carried = true;
        ++world.life;
        world.is_dialling = world.was_replaced = false;
        world.evidence.OnCarried(world.has_address, world.has_process);
        return true;
      case Step::kPidfdTells:
        if (world.lives || world.was_told || !world.has_process) return false;
        world.was_told = true;
        world.evidence.OnProcessEnded();
        return true;
      case Step::kDialFindsIt:
        return world.listens && Dial(world, /*is_refused=*/false);
      case Step::kDialIsRefused:
        // A listening socket is replaced in less than kBetweenDials.
        if (world.listens && world.was_replaced) return false;
        return Dial(world, /*is_refused=*/true);
      case Step::kOutcomeComes:
        return TakeOutcome(world, 0);
      case Step::kLaterOutcomeComes:
        return TakeOutcome(world, 1);
    }
    return false;
  }
  static bool Dial(World& world, bool is_refused) {
    if (world.is_dialling || world.evidence.NextDial() > world.now) return false;
    world.is_dialling = true;
    world.was_replaced = is_refused && world.listens;
    world.evidence.OnDialBegun();
    world.outcomes.push_back({world.life, is_refused});
    return true;
  }
  bool TakeOutcome(World& world, size_t which) const {
    if (world.outcomes.size() <= which) return false;
    const Outcome outcome = world.outcomes[which];
    world.outcomes.erase(world.outcomes.begin() + static_cast<ptrdiff_t>(which));
    if (outcome.life == world.life) world.is_dialling = false;
    if (outcome.life != world.life && !heeds_late_outcomes_) return true;
    if (outcome.is_refused) {
      world.evidence.OnNobodyListens(world.now);
    } else {
      world.evidence.OnDialProvedNothing(world.now);
    }
    return true;
  }

  void CheckEnd(World world, const std::string& path) {
    if (world.lives || world.is_carried || (!world.has_address && !world.has_process)) return;
    for (int i = 0; i < 20 && !world.evidence.is_proved(); ++i) {
      if (!Do(world, Step::kOutcomeComes) && !Do(world, Step::kPidfdTells)) (void)Do(world, Step::kDialIsRefused);
    }
    if (!world.evidence.is_proved()) failure_ = absl::StrCat(path, " a peer that is dead is never proved to be");
  }

  const bool heeds_late_outcomes_;
  int64_t histories_ = 0;
  std::string failure_;
};

constexpr size_t kDepth = 14;

TEST(PeerEvidenceModelTest, OnlyADeadPeerIsProvedDeadAndEachThatCanBeIs) {
  Explorer explorer;
  EXPECT_THAT(explorer.Explore(kDepth), IsEmpty());
  printf("%lld histories\n", static_cast<long long>(explorer.histories()));  // NOLINT(google-runtime-int)
  EXPECT_GT(explorer.histories(), 10'000);
}

TEST(PeerEvidenceModelTest, EachRuleThatIsLeftOutIsFound) {
  const auto failure = [](const char* rule) {
    FaultPoint::Scope broken(rule);
    return Explorer().Explore(kDepth);
  };
  EXPECT_THAT(failure("evidence_needs_one_refusal"), HasSubstr("a peer that lives is proved dead"));
  EXPECT_THAT(failure("evidence_keeps_refusals_before_an_answer"), HasSubstr("a peer that lives is proved dead"));
  EXPECT_THAT(failure("evidence_believes_refusals_of_a_living_process"), HasSubstr("a peer that lives is proved dead"));
  EXPECT_THAT(failure("evidence_is_kept_when_a_stream_carries"), HasSubstr("a peer that lives is proved dead"));
  EXPECT_THAT(failure("evidence_counts_while_a_stream_carries"), HasSubstr("while a stream carries"));
  EXPECT_THAT(failure("evidence_dials_once"), HasSubstr("never proved to be"));
  EXPECT_THAT(Explorer(/*heeds_late_outcomes=*/true).Explore(kDepth), HasSubstr("a peer that lives is proved dead"));
}

}  // namespace
}  // namespace understudy::internal

// Random trees: a tree that is printed and read again is the same, and a bad one is refused with every error that the
// validation finds.
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/random.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/supervision/actor_factories.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/pool.h"
#include "understudy/supervision/spec_errors.h"
#include "understudy/transport/tree_file.h"

namespace understudy {
namespace {

using google::protobuf::StringValue;

constexpr int kTrees = 3000;

class Nobody final : public Actor {
 public:
  explicit Nobody(int) {}
  StartResult Start() override { return StartResult::Ignore(); }
};

ActorFactories Factories() {
  ActorFactories factories;
  factories.AddPool<Pool<Nobody(int)>>("pool")
      .Add("plain", [] { return nullptr; })
      .Add<StringValue>("speaker", [](const StringValue&) { return std::unique_ptr<Actor>(); });
  return factories;
}

class RandomTree {
 public:
  explicit RandomTree(uint64_t seed) : random_(seed) {}

  // Bad ones among them: about every second tree has a fault.
  SupervisorSpec Supervisor(int depth = 0) {
    SupervisorSpec spec;
    spec.strategy = static_cast<RestartStrategy>(random_.Below(3));
    spec.auto_shutdown = static_cast<AutoShutdown>(random_.Below(3));
    if (Sometimes(2)) spec.intensity = Sometimes(40) ? -1 : static_cast<int>(random_.Below(10));
    if (Sometimes(2)) spec.period = Time();
    spec.stop_together = spec.strategy == RestartStrategy::kOneForOne ? Sometimes(3) : Sometimes(100);
    for (uint64_t i = random_.Below(depth == 0 ? 6 : 4); i > 0; --i) spec.children.push_back(Child(spec, depth));
    return spec;
  }

 private:
  bool Sometimes(uint64_t one_in) { return random_.Below(one_in) == 0; }

  absl::Duration Time() {
    if (Sometimes(200)) return absl::InfiniteDuration();
    if (Sometimes(200)) return absl::ZeroDuration();
    const absl::Duration units[] = {absl::Nanoseconds(1) / 4, absl::Microseconds(1), absl::Milliseconds(1),
                                    absl::Seconds(1), absl::Hours(1)};
    absl::Duration time = absl::ZeroDuration();
    for (uint64_t parts = 1 + random_.Below(3); parts > 0; --parts) {
      time += units[random_.Below(5)] * static_cast<int64_t>(1 + random_.Below(999));
    }
    return time;
  }

  std::string Text() {
    static constexpr const char* kPieces[] = {"a", "Z",  "7",  "-",    " ", "\"", "\\",
                                              "'", "\n", "\t", "\x01", "ä", "{",  "#"};
    std::string text;
    for (uint64_t i = random_.Below(8); i > 0; --i) absl::StrAppend(&text, kPieces[random_.Below(14)]);
    return text;
  }
  std::string Name() { return Sometimes(40) ? Text() : absl::StrCat("name-", ++names_); }

  RestartBackoff Backoff() {
    RestartBackoff backoff;
    if (Sometimes(2)) backoff.min = Time();
    if (Sometimes(2)) backoff.max = backoff.min + Time();
    if (Sometimes(2)) backoff.factor = 1.0 + 3 * random_.Fraction();
    if (Sometimes(2)) backoff.jitter = random_.Fraction();
    if (Sometimes(60)) backoff.factor = std::numeric_limits<double>::infinity();
    if (Sometimes(2)) backoff.reset_after = Time();
    if (Sometimes(2)) backoff.give_up_after_attempts = static_cast<int>(random_.Below(50));
    if (Sometimes(3)) backoff.give_up_after = backoff.min + Time();
    return backoff;
  }

  NodePlacement Placement() {
    NodePlacement placement;
    for (uint64_t i = 1 + random_.Below(3); i > 0; --i) placement.nodes.push_back(Name());
    if (Sometimes(60)) placement.nodes.push_back(placement.nodes[0]);
    placement.spread = Sometimes(2);
    if (Sometimes(2)) placement.connect_within = Time();
    return placement;
  }

  SupervisorSpec APool() {
    PoolOptions options;
    if (Sometimes(2)) options.id = Sometimes(30) ? "" : Name();
    options.restart = static_cast<RestartType>(random_.Below(3));
    if (Sometimes(3)) options.shutdown = ChildShutdown::Within(Time());
    if (options.restart != RestartType::kTemporary && Sometimes(3)) options.backoff = Backoff();
    options.exclusive = options.restart != RestartType::kTemporary && Sometimes(2);
    if (Sometimes(2)) options.start_within = Time();
    if (Sometimes(2)) options.intensity = static_cast<int>(random_.Below(100));
    if (Sometimes(2)) options.period = Time();
    if (Sometimes(2)) options.children_max = static_cast<int>(random_.Below(1000));
    if (Sometimes(2)) options.shards = static_cast<int>(1 + random_.Below(70));
    options.auto_shutdown = static_cast<AutoShutdown>(random_.Below(3));
    return PoolTree(options);
  }

  ChildSpec Child(const SupervisorSpec& parent, int depth) {
    ChildSpec child{.id = Name()};
    child.restart = static_cast<RestartType>(random_.Below(3));
    if (Sometimes(2)) {
      child.shutdown = Sometimes(3)   ? ChildShutdown::BrutalKill()
                       : Sometimes(2) ? ChildShutdown::Infinity()
                                      : ChildShutdown::Within(Time());
    }
    const bool may_be_significant =
        child.restart != RestartType::kPermanent && parent.auto_shutdown != AutoShutdown::kNever;
    child.significant = may_be_significant ? Sometimes(2) : Sometimes(60);
    if (Sometimes(3)) child.backoff = Backoff();
    if (child.restart != RestartType::kTemporary && Sometimes(4)) {
      child.budget = RestartBudget{static_cast<int>(random_.Below(3)), Time()};
    }
    child.exclusive = child.restart != RestartType::kTemporary ? Sometimes(3) : Sometimes(60);
    if (Sometimes(3)) child.start_within = Time();
    const uint64_t what = random_.Below(depth < 3 ? 5 : 3);
    if (what == 4) {
      child.kind = ChildKind::kSupervisor;
      child.factory = FactoryCall{.name = "pool"};
      child.subtree = std::make_shared<const SupervisorSpec>(APool());
    } else if (what == 3) {
      child.kind = ChildKind::kSupervisor;
      child.subtree = std::make_shared<const SupervisorSpec>(Supervisor(depth + 1));
    } else if (what == 2) {
      child.kind = ChildKind::kProcess;
      child.process.emplace().binary = Name();
      for (uint64_t i = random_.Below(3); i > 0; --i) child.process->arguments.push_back(Text());
      for (uint64_t i = random_.Below(3); i > 0; --i) child.process->environment.emplace_back(Name(), Text());
      if (Sometimes(2)) child.process->node_name = Name();
      if (Sometimes(2)) child.process->limits.memory_bytes = static_cast<int64_t>(random_.Below(1 << 30)) - 1000;
      if (Sometimes(2)) child.process->limits.open_files = static_cast<int64_t>(random_.Below(1000));
      if (Sometimes(2)) child.process->silent_within = absl::Milliseconds(40 + random_.Below(1000));
      return child;
    } else {
      child.factory.emplace().name = "plain";
      if (Sometimes(2)) {
        StringValue argument;
        argument.set_value(Text());
        child.factory = {"speaker", "google.protobuf.StringValue", argument.SerializeAsString()};
      }
    }
    if (child.kind == ChildKind::kWorker ? Sometimes(3) : Sometimes(60)) {
      child.placement = Placement();
      child.exclusive = false;
      if (Sometimes(3)) child.published_as = Name();
      return child;
    }
    if (Sometimes(3)) child.registered_as = Name();
    if (Sometimes(3)) child.published_as = Name();
    return child;
  }

  Random random_;
  int names_ = 0;
};

// Returns the first difference, or an empty text.
std::string Difference(const SupervisorSpec& a, const SupervisorSpec& b);

std::string Difference(const ChildSpec& a, const ChildSpec& b) {
  if (a.id != b.id) return "id";
  if (a.kind != b.kind) return "kind";
  if (a.restart != b.restart) return "restart";
  if (a.shutdown != b.shutdown) return "shutdown";
  if (a.significant != b.significant) return "significant";
  if (a.backoff != b.backoff) return "backoff";
  if (a.budget != b.budget) return "budget";
  if (a.exclusive != b.exclusive) return "exclusive";
  if (a.start_within != b.start_within) return "start_within";
  if (a.registered_as != b.registered_as) return "registered_as";
  if (a.published_as != b.published_as) return "published_as";
  if (a.process != b.process) return "process";
  if (a.factory != b.factory) return "factory";
  if (a.placement != b.placement) return "placement";
  if ((a.subtree == nullptr) != (b.subtree == nullptr)) return "subtree";
  if (a.subtree == nullptr) return "";
  const std::string below = Difference(*a.subtree, *b.subtree);
  return below.empty() ? "" : absl::StrCat(a.id, "/", below);
}

std::string Difference(const SupervisorSpec& a, const SupervisorSpec& b) {
  if (a.strategy != b.strategy) return "strategy";
  if (a.intensity != b.intensity) return "intensity";
  if (a.period != b.period) return "period";
  if (a.auto_shutdown != b.auto_shutdown) return "auto_shutdown";
  if (a.stop_together != b.stop_together) return "stop_together";
  if (a.children.size() != b.children.size()) return "children";
  if ((a.pool == nullptr) != (b.pool == nullptr)) return "pool";
  if (a.pool != nullptr) {
    if (a.pool->children_max != b.pool->children_max) return "pool.children_max";
    if (a.pool->shards != b.pool->shards) return "pool.shards";
    const std::string below = Difference(a.pool->child, b.pool->child);
    if (!below.empty()) return absl::StrCat("pool.child.", below);
  }
  for (size_t i = 0; i < a.children.size(); ++i) {
    const std::string below = Difference(a.children[i], b.children[i]);
    if (!below.empty()) return absl::StrCat(a.children[i].id, ".", below);
  }
  return "";
}

TEST(TreeRoundTrip, ATreeThatIsPrintedAndReadAgainIsTheSame) {
  const ActorFactories factories = Factories();
  int good = 0;
  int bad = 0;
  ForEachSeed(kTrees, [&](uint64_t seed) {
    const SupervisorSpec tree = RandomTree(seed).Supervisor();
    const absl::StatusOr<std::string> text = TreeText(tree);
    ASSERT_TRUE(text.ok()) << text.status();
    const absl::StatusOr<SupervisorSpec> again = ParseTree(*text, "t", factories);
    const std::vector<SpecError> errors = FindSpecErrors(tree);
    EXPECT_EQ(again.ok(), errors.empty()) << again.status() << "\n" << *text;
    if (!again.ok()) {
      for (const SpecError& error : errors) {
        // In one line: the random names have these.
        const std::string line =
            absl::StrReplaceAll(error.ToString(), {{"\n", "\\n"}, {"\t", "\\x09"}, {"\x01", "\\x01"}});
        EXPECT_TRUE(absl::StrContains(again.status().message(), line)) << again.status() << "\n" << *text;
      }
      ++bad;
      return;
    }
    EXPECT_EQ(Difference(tree, *again), "") << *text;
    EXPECT_EQ(*TreeText(*again), *text);
    ++good;
  });
  // A single seed from the environment is one or the other.
  if (good + bad == kTrees) {
    EXPECT_GT(good, kTrees / 10);
    EXPECT_GT(bad, kTrees / 10);
  }
}

}  // namespace
}  // namespace understudy

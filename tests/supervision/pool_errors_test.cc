#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/field_errors.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/spec_errors.h"
#include "understudy/tests/supervision/startable.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> ErrorsOf(const SupervisorSpec& spec) {
  std::vector<std::string> texts;
  for (const SpecError& error : FindSpecErrors(Startable(spec))) texts.push_back(error.ToString());
  return texts;
}

SupervisorSpec PoolTree(const PoolSpec& pool) {
  SupervisorSpec spec{.intensity = 3, .period = absl::Seconds(10)};
  spec.pool = std::make_shared<const PoolSpec>(pool);
  return spec;
}

PoolSpec GoodPool() { return {.child = {.id = "w", .restart = RestartType::kTransient}}; }

// OTP SUP-23
TEST(PoolErrors, AGoodPoolHasNone) {
  EXPECT_THAT(ErrorsOf(PoolTree(GoodPool())), IsEmpty());
  PoolSpec sharded = GoodPool();
  sharded.shards = limits::kPoolShardsMax;
  EXPECT_THAT(ErrorsOf(PoolTree(sharded)), IsEmpty());
}

TEST(PoolErrors, EachBadFieldHasItsOwn) {
  SupervisorSpec with_children = PoolTree(GoodPool());
  with_children.children = {{.id = "a"}, {.id = "b"}};
  EXPECT_THAT(
      ErrorsOf(with_children),
      ElementsAre("children: there are 2; a pool must have none here, since it starts its children by request"));
  SupervisorSpec ordered = PoolTree(GoodPool());
  ordered.strategy = RestartStrategy::kRestForOne;
  EXPECT_THAT(ErrorsOf(ordered), ElementsAre("strategy: rest_for_one needs an order, which a pool's children do not "
                                             "have; use one_for_one"));
  PoolSpec pool = GoodPool();
  pool.children_max = 0;
  EXPECT_THAT(ErrorsOf(PoolTree(pool)), ElementsAre("pool.children_max: 0 is not in [1, 100000]"));
  pool = GoodPool();
  pool.shards = 65;
  EXPECT_THAT(ErrorsOf(PoolTree(pool)), ElementsAre("pool.shards: 65 is not in [1, 64]"));
  pool = GoodPool();
  pool.child.registered_as = "w";
  EXPECT_THAT(ErrorsOf(PoolTree(pool)),
              ElementsAre("pool.child: has the name 'w', which only one of its children could have; put {id} into it, "
                          "which stands for the id of each"));
  pool.child.registered_as = "w/{id}";
  pool.child.published_as = "{id} of w";
  EXPECT_THAT(ErrorsOf(PoolTree(pool)), IsEmpty());
  pool = GoodPool();
  pool.child.id = "w#";
  EXPECT_THAT(
      ErrorsOf(PoolTree(pool)),
      ElementsAre(
          "pool.child: the id 'w#' contains '#', which the pool puts before its children's numbers; leave it out"));
  pool = GoodPool();
  pool.child = {.id = "job", .kind = ChildKind::kProcess, .process = ProcessSpec{.binary = "b", .node_name = "n"}};
  EXPECT_THAT(ErrorsOf(PoolTree(pool)),
              ElementsAre("pool.child: has the node name 'n', which only one of its children could have; leave it out, "
                          "and each is named by its id"));
  pool.child.process->node_name = "";
  EXPECT_THAT(ErrorsOf(PoolTree(pool)), IsEmpty());
  pool.child.id = std::string(43, 'j');
  EXPECT_THAT(ErrorsOf(PoolTree(pool)),
              ElementsAre("pool.child: the id has 43 bytes; at most 42 leave room for a number in a node's name"));
  SupervisorSpec significant = PoolTree(GoodPool());
  significant.auto_shutdown = AutoShutdown::kAnySignificant;
  EXPECT_THAT(ErrorsOf(significant), IsEmpty());
  pool = GoodPool();
  pool.shards = 2;
  significant.pool = std::make_shared<const PoolSpec>(pool);
  EXPECT_THAT(
      ErrorsOf(significant),
      ElementsAre("auto_shutdown: a shard does not know the children of the other shards; use 1 shard, or never"));
}

TEST(PoolErrors, ItsTemplateIsAChildLikeAnyOther) {
  PoolSpec pool = GoodPool();
  pool.child.id = "";
  pool.child.shutdown = ChildShutdown::Within(absl::ZeroDuration());
  EXPECT_THAT(ErrorsOf(PoolTree(pool)), ElementsAre(HasSubstr("id: is empty"), HasSubstr("shutdown: 0")));
}

// A parent's shutdown timeout must exceed the longest timeout of the pool's children, but not their sum.
TEST(PoolErrors, APoolNeedsMoreTimeToStopThanOneOfItsChildren) {
  for (const bool is_pool : {true, false}) {
    auto tree = std::make_shared<SupervisorSpec>(PoolTree(GoodPool()));
    if (!is_pool) {
      tree->pool = nullptr;
      tree->stop_together = true;
      tree->children = {{.id = "a"}, {.id = "b"}, {.id = "c"}};
    }
    SupervisorSpec parent;
    parent.children.push_back({.id = "pool", .kind = ChildKind::kSupervisor, .subtree = tree});
    parent.children[0].shutdown = ChildShutdown::Within(absl::Seconds(5.1));
    EXPECT_THAT(ErrorsOf(parent), IsEmpty());
    parent.children[0].shutdown = ChildShutdown::Within(absl::Seconds(5));
    EXPECT_THAT(ErrorsOf(parent), ElementsAre("child 'pool': shutdown: 5s is not more than its children may take to "
                                              "stop, together (5s); give it more, or Infinity"));
  }
  SupervisorSpec ordered{.strategy = RestartStrategy::kOneForAll, .stop_together = true};
  EXPECT_THAT(ErrorsOf(ordered),
              ElementsAre("stop_together: one_for_all stops its children in an order; use one_for_one, or false"));
}

TEST(BudgetErrors, EachBadFieldHasItsOwn) {
  const auto errors = [](RestartBudget budget) {
    SupervisorSpec spec{.intensity = 100, .period = absl::Seconds(10)};
    spec.children.push_back({.id = "a", .budget = budget});
    return ErrorsOf(spec);
  };
  EXPECT_THAT(errors({3, absl::Minutes(1)}), IsEmpty());
  EXPECT_THAT(errors({0, absl::Seconds(1)}), IsEmpty());
  EXPECT_THAT(errors({-1, absl::Minutes(1)}), ElementsAre("child 'a': budget.intensity: -1 is not in [0, 100000]"));
  EXPECT_THAT(errors({100001, absl::Minutes(1)}), ElementsAre(HasSubstr("100001 is not in [0, 100000]")));
  for (const absl::Duration period : {absl::ZeroDuration(), -absl::Seconds(1), absl::InfiniteDuration()}) {
    EXPECT_THAT(errors({1, period}), ElementsAre(HasSubstr("child 'a': budget.period:")));
  }
}

TEST(BudgetErrors, ABudgetThatIsNeverSpentIsAnError) {
  SupervisorSpec spec{.intensity = 3, .period = absl::Seconds(10)};
  spec.children.push_back({.id = "a", .budget = RestartBudget{3, absl::Seconds(10)}});
  EXPECT_THAT(ErrorsOf(spec), IsEmpty()) << "the budget of the child is checked first";
  spec.children[0].budget = RestartBudget{4, absl::Seconds(10)};
  EXPECT_THAT(ErrorsOf(spec), ElementsAre("child 'a': budget: is never spent: its supervisor gives up first, after 3 "
                                          "restarts within 10s"));
  spec.children[0].budget = RestartBudget{4, absl::Seconds(11)};
  EXPECT_THAT(ErrorsOf(spec), IsEmpty()) << "four restarts in eleven seconds need not be within ten";
  spec.children[0].backoff = RestartBackoff{.reset_after = absl::Seconds(5)};
  EXPECT_THAT(ErrorsOf(spec), ElementsAre("child 'a': budget: is never spent: with this backoff at most 3 restarts are "
                                          "counted within 11s"));
  spec.children[0].budget = RestartBudget{2, absl::Seconds(11)};
  EXPECT_THAT(ErrorsOf(spec), IsEmpty());
}

TEST(BudgetErrors, ATemporaryChildIsNeverRestarted) {
  SupervisorSpec spec;
  spec.children.push_back(
      {.id = "a", .restart = RestartType::kTemporary, .budget = RestartBudget{0, absl::Seconds(1)}, .exclusive = true});
  EXPECT_THAT(ErrorsOf(spec), ElementsAre("child 'a': exclusive: a temporary child is never restarted",
                                          "child 'a': budget: a temporary child is never restarted"));
}

}  // namespace
}  // namespace understudy

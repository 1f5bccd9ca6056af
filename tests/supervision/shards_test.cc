#include "understudy/supervision/internal/shards.h"

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/supervisor.h"

namespace understudy::internal {
namespace {

Shards Two() {
  Shards shards;
  shards.Learn({{.id = "shard-0", .pid = Pid(1, 1, 1)}, {.id = "shard-1", .pid = Pid(1, 2, 1)}});
  return shards;
}

TEST(Shards, FrontHasEachShardWithItsPartOfTheChildren) {
  SupervisorSpec pool;
  auto parts = std::make_shared<PoolSpec>();
  parts->shards = 3;
  parts->children_max = 10;
  pool.pool = parts;
  const SupervisorSpec front = FrontOf(pool);
  ASSERT_EQ(front.children.size(), 3U);
  EXPECT_EQ(front.children[2].id, "shard-2");
  EXPECT_EQ(front.children[0].subtree->pool->children_max, 4);
  EXPECT_EQ(front.children[0].subtree->pool->shards, 1);
  EXPECT_EQ(front.intensity, 0);
  EXPECT_TRUE(front.stop_together);
}

TEST(Shards, IdAlwaysMeansTheSameShardAndIdsShareThem) {
  const Shards shards = Two();
  EXPECT_EQ(shards.Of("a").pid(), Two().Of("a").pid());
  int first = 0;
  for (const char* id : {"a", "b", "c", "d", "e", "f", "g", "h"}) first += shards.Of(id).pid() == Pid(1, 1, 1) ? 1 : 0;
  EXPECT_GT(first, 0);
  EXPECT_LT(first, 8);
}

TEST(Shards, AnswersLeadFromOneShardToTheNext) {
  const Shards shards = Two();
  const absl::StatusOr<Shards::ShardQuery> begin = shards.In({.after = 0, .at_most = 10});
  EXPECT_EQ(begin->index, 0U);
  EXPECT_EQ(begin->query.after, 0U);
  EXPECT_EQ(begin->query.at_most, 10U);
  const Children page = shards.Out(0, {.children = {{.id = "a", .place = 4}}, .next = 4});
  EXPECT_EQ(page.children[0].place, 4U);
  EXPECT_EQ(shards.In({.after = page.next})->query.after, 4U);
  const Children last_of_first = shards.Out(0, {});
  const absl::StatusOr<Shards::ShardQuery> second = shards.In({.after = last_of_first.next});
  EXPECT_EQ(second->index, 1U);
  EXPECT_EQ(second->query.after, 0U);
  const Children of_second = shards.Out(1, {.children = {{.id = "b", .place = 4}}, .next = 4});
  EXPECT_GT(of_second.children[0].place, page.children[0].place);
  EXPECT_EQ(shards.In({.after = of_second.next})->index, 1U);
  EXPECT_EQ(shards.In({.after = of_second.next})->query.after, 4U);
  EXPECT_EQ(shards.Out(1, {}).next, 0U) << "this is the last page";
}

TEST(Shards, PlaceThatNoAnswerHadIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(Two().In({.after = UINT64_MAX}).status()));
}

TEST(Shards, MemberNumbersAreNotReused) {
  Shards shards = Two();
  EXPECT_EQ(shards.NextMemberNumber(), 1U);
  EXPECT_EQ(shards.NextMemberNumber(), 2U);
}

}  // namespace
}  // namespace understudy::internal

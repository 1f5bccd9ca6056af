#include "understudy/supervision/internal/shards.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/message.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/supervisor.h"

namespace understudy::internal {
namespace {

// A place that the front gives to users: the child's place in its shard in the lower kPlaceBits bits, and the index of
// the shard above them.
constexpr int kPlaceBits = 56;
constexpr uint64_t kPlaceMask = (uint64_t{1} << kPlaceBits) - 1;

}  // namespace

SupervisorSpec FrontOf(const SupervisorSpec& pool) {
  const int shards = pool.pool->shards;
  auto part = std::make_shared<PoolSpec>(*pool.pool);
  part->shards = 1;
  part->children_max = (part->children_max + shards - 1) / shards;
  auto shard = std::make_shared<SupervisorSpec>(pool);
  shard->pool = std::move(part);
  SupervisorSpec front;
  front.intensity = 0;
  front.stop_together = true;
  for (int i = 0; i < shards; ++i) {
    front.children.push_back({.id = absl::StrCat("shard-", i), .kind = ChildKind::kSupervisor, .subtree = shard});
  }
  return front;
}

void Shards::Learn(const std::vector<ChildInfo>& shards) {
  for (const ChildInfo& shard : shards) shards_.emplace_back(shard.pid);
}

const SupervisorRef& Shards::Of(absl::string_view id) const { return shards_[Fnv1a(id) % shards_.size()]; }

absl::StatusOr<Shards::ShardQuery> Shards::In(WhichChildren query) const {
  const size_t index = query.after >> kPlaceBits;
  if (index >= shards_.size()) {
    return absl::InvalidArgumentError(absl::StrCat(query.after, " is not the `next` of an earlier answer"));
  }
  query.after &= kPlaceMask;
  return ShardQuery{index, query};
}

Children Shards::Out(size_t index, Children answer) const {
  for (ChildInfo& child : answer.children) child.place |= uint64_t{index} << kPlaceBits;
  if (answer.next != 0) {
    answer.next |= uint64_t{index} << kPlaceBits;
  } else if (index + 1 < shards_.size()) {
    answer.next = uint64_t{index + 1} << kPlaceBits;
  }
  return answer;
}

}  // namespace understudy::internal

// Shards: the shards of a pool, for its *front*. The front is a supervisor whose children are the shards; each shard is
// a pool of its own with a part of the pool's children.
//
// Owner only.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_SHARDS_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_SHARDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/supervisor.h"

namespace understudy::internal {

// Returns the tree of the front of `pool`: its shards, which stop together when one of them ends, so that all children
// of the pool end together, as with one supervisor. Requires pool.pool->shards > 1.
SupervisorSpec FrontOf(const SupervisorSpec& pool);

class Shards {
 public:
  // Stores the shards, which have started, in the order of their indices. Call once, before the other functions.
  void Learn(const std::vector<ChildInfo>& shards);

  const std::vector<SupervisorRef>& all() const { return shards_; }
  // The shard of the child with that id, which is the same in every run of the program.
  const SupervisorRef& Of(absl::string_view id) const;
  // Returns 1, 2, … for the ids that the front generates.
  uint64_t NextMemberNumber() { return ++last_member_; }

  // WhichChildren goes through the shards one after another, so that each answer has children of one shard only. Each
  // `place` and `next` in an answer contains the index of the shard. `In` turns a query for the front into one for the
  // shard `index`; it returns InvalidArgument if the query's `after` is not from an earlier answer. `Out` turns the
  // shard's answer into the front's.
  struct ShardQuery {
    size_t index = 0;
    WhichChildren query;
  };
  absl::StatusOr<ShardQuery> In(WhichChildren query) const;
  Children Out(size_t index, Children answer) const;

 private:
  std::vector<SupervisorRef> shards_;
  uint64_t last_member_ = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_SHARDS_H_

#include "understudy/supervision/internal/supervisor_front.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pending_group.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/task.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/member_ids.h"
#include "understudy/supervision/internal/plan_supervisor.h"
#include "understudy/supervision/internal/restart_plan.h"
#include "understudy/supervision/supervisor.h"

namespace understudy::internal {
namespace {

// A place in a shard, and which shard, as one number for WhichChildren.
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
    front.children.push_back({.id = ShardId(i), .kind = ChildKind::kSupervisor, .subtree = shard});
  }
  return front;
}

std::string ShardId(int index) { return absl::StrCat("shard-", index); }

void PlanSupervisor::LearnShards() {
  if (!is_front()) return;
  for (const ChildInfo& shard : plan_->children().WhichChildren()) shards_.emplace_back(shard.pid);
}

// The same on every run, and for as long as the pool lives.
SupervisorRef PlanSupervisor::ShardOf(absl::string_view id) const { return shards_[Fnv1a(id) % shards_.size()]; }

void PlanSupervisor::HandStart(std::string id, std::shared_ptr<const ChildStart> start, AnswerRequest answer) {
  if (id.empty()) id = MemberId(spec_->pool->child, ++last_member_);
  const understudy::Ref<PlanSupervisor> shard(ShardOf(id).pid());
  HandedStart handed{std::move(id), std::move(start), std::move(answer)};
  const absl::Status sent = shard[&PlanSupervisor::handed_start].Send(std::move(handed));
  if (!sent.ok()) std::move(handed.answer)(sent);  // NOLINT(bugprone-use-after-move): refused, it is still ours
}

// The shards one after another, so that no answer is of more than one.
Task<absl::StatusOr<Children>> PlanSupervisor::ListShards(WhichChildren query) {
  const size_t index = query.after >> kPlaceBits;
  if (index >= shards_.size()) {
    co_return absl::InvalidArgumentError(absl::StrCat(query.after, " is not the `next` of an earlier answer"));
  }
  query.after &= kPlaceMask;
  auto asked = shards_[index].which_children().Ask(query, limits::kAskTimeoutMax);
  absl::StatusOr<Children> answer = co_await asked;
  if (!answer.ok()) co_return answer;
  for (ChildInfo& child : answer->children) child.place |= uint64_t{index} << kPlaceBits;
  if (answer->next != 0) {
    answer->next |= uint64_t{index} << kPlaceBits;
  } else if (index + 1 < shards_.size()) {
    answer->next = uint64_t{index + 1} << kPlaceBits;
  }
  co_return answer;
}

Task<absl::StatusOr<ChildCounts>> PlanSupervisor::TallyShards(CountChildren query) {
  std::vector<Pending<ChildCounts>> asked;
  asked.reserve(shards_.size());
  for (const SupervisorRef& shard : shards_) {
    asked.push_back(shard.count_children().Ask(query, limits::kAskTimeoutMax));
  }
  auto all = All(asked);
  const std::vector<absl::StatusOr<ChildCounts>> answers = co_await all;
  ChildCounts sum;
  for (const absl::StatusOr<ChildCounts>& part : answers) {
    if (!part.ok()) co_return part.status();
    sum.specs += part->specs;
    sum.active += part->active;
    sum.supervisors += part->supervisors;
    sum.workers += part->workers;
  }
  co_return sum;
}

Task<absl::StatusOr<ChildSpec>> PlanSupervisor::GetSpecOfShard(GetChildSpec query) {
  auto asked = ShardOf(query.id).get_child_spec().Ask(query, limits::kAskTimeoutMax);
  absl::StatusOr<ChildSpec> spec = co_await asked;
  co_return spec;
}

// A pid does not say which shard it is of. When it is of none, one of them finds
// out whether it lives.
Task<absl::StatusOr<ChildDone>> PlanSupervisor::TerminateInShards(TerminateChild request) {
  if (request.id.empty()) {
    const HandedTermination handed{request.pid};
    std::vector<Pending<ChildDone>> asked;
    asked.reserve(shards_.size());
    for (const SupervisorRef& shard : shards_) {
      const understudy::Ref<PlanSupervisor> plan(shard.pid());
      asked.push_back(plan[&PlanSupervisor::handed_termination].Ask(handed, limits::kAskTimeoutMax));
    }
    auto all = All(asked);
    const std::vector<absl::StatusOr<ChildDone>> answers = co_await all;
    for (const absl::StatusOr<ChildDone>& answer : answers) {
      if (answer.ok() || !absl::IsNotFound(answer.status())) co_return answer;
    }
  }
  const SupervisorRef shard = request.id.empty() ? shards_.front() : ShardOf(request.id);
  auto asked = shard.terminate_child().Ask(request, limits::kAskTimeoutMax);
  absl::StatusOr<ChildDone> done = co_await asked;
  co_return done;
}

Task<absl::StatusOr<Subscribed>> PlanSupervisor::SubscribeToShards(Subscribe request) {
  absl::StatusOr<Subscribed> here = AddSubscriber(request);
  if (!here.ok()) co_return here;
  std::vector<Pending<Subscribed>> asked;
  asked.reserve(shards_.size());
  for (const SupervisorRef& shard : shards_) {
    asked.push_back(shard.subscribe().Ask(request, limits::kAskTimeoutMax));
  }
  auto all = All(asked);
  const std::vector<absl::StatusOr<Subscribed>> answers = co_await all;
  for (const absl::StatusOr<Subscribed>& answer : answers) {
    if (!answer.ok()) co_return answer;
  }
  co_return Subscribed();
}

}  // namespace understudy::internal

#include "understudy/supervision/internal/pool_front.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pending_group.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/task.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/member_ids.h"
#include "understudy/supervision/internal/pending_answers.h"
#include "understudy/supervision/internal/plan_supervisor.h"
#include "understudy/supervision/internal/shards.h"
#include "understudy/supervision/supervisor.h"

namespace understudy::internal {

void PoolFront::Start(std::string id, std::shared_ptr<const ChildStart> start, AnswerRequest answer) {
  if (id.empty()) id = MemberId(pool_->pool->child, shards_.NextMemberNumber());
  const understudy::Ref<PlanSupervisor> shard(shards_.Of(id).pid());
  HandedStart handed{std::move(id), std::move(start), std::move(answer)};
  const absl::Status sent = shard[&PlanSupervisor::handed_start].Send(std::move(handed));
  // A message that is refused is not moved from.
  if (!sent.ok()) std::move(handed.answer)(sent);  // NOLINT(bugprone-use-after-move)
}

Task<absl::StatusOr<Children>> PoolFront::List(WhichChildren query) {
  const absl::StatusOr<Shards::ShardQuery> part = shards_.In(query);
  if (!part.ok()) co_return part.status();
  auto asked = shards_.all()[part->index].which_children().Ask(part->query, limits::kAskTimeoutMax);
  absl::StatusOr<Children> answer = co_await asked;
  if (!answer.ok()) co_return answer;
  co_return shards_.Out(part->index, *std::move(answer));
}

Task<absl::StatusOr<ChildCounts>> PoolFront::Tally(CountChildren query) {
  std::vector<Pending<ChildCounts>> asked;
  asked.reserve(shards_.all().size());
  for (const SupervisorRef& shard : shards_.all()) {
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

Task<absl::StatusOr<ChildSpec>> PoolFront::GetSpec(GetChildSpec query) {
  auto asked = shards_.Of(query.id).get_child_spec().Ask(query, limits::kAskTimeoutMax);
  absl::StatusOr<ChildSpec> spec = co_await asked;
  co_return spec;
}

// The shard of a child cannot be told from its pid, so all shards are asked. If no shard has a child with the pid, one
// of them finds out whether the actor has ended (UnknownPids).
Task<absl::StatusOr<ChildDone>> PoolFront::Terminate(TerminateChild request) {
  if (request.id.empty()) {
    const HandedTermination handed{request.pid};
    std::vector<Pending<ChildDone>> asked;
    asked.reserve(shards_.all().size());
    for (const SupervisorRef& shard : shards_.all()) {
      const understudy::Ref<PlanSupervisor> plan(shard.pid());
      asked.push_back(plan[&PlanSupervisor::handed_termination].Ask(handed, limits::kAskTimeoutMax));
    }
    auto all = All(asked);
    const std::vector<absl::StatusOr<ChildDone>> answers = co_await all;
    for (const absl::StatusOr<ChildDone>& answer : answers) {
      if (answer.ok() || !absl::IsNotFound(answer.status())) co_return answer;
    }
  }
  const SupervisorRef shard = request.id.empty() ? shards_.all().front() : shards_.Of(request.id);
  auto asked = shard.terminate_child().Ask(request, limits::kAskTimeoutMax);
  absl::StatusOr<ChildDone> done = co_await asked;
  co_return done;
}

Task<absl::StatusOr<Subscribed>> PoolFront::SubscribeToAll(Subscribe request, absl::Status here) {
  if (!here.ok()) co_return here;
  std::vector<Pending<Subscribed>> asked;
  asked.reserve(shards_.all().size());
  for (const SupervisorRef& shard : shards_.all()) {
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

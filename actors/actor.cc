#include "understudy/actors/actor.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "understudy/actors/check.h"
#include "understudy/actors/internal/actor_core.h"

namespace understudy {
namespace internal {

void BeginReceive(const Behavior& receive, std::coroutine_handle<> waiter) {
  ActorCore& core = ActorCore::OfThisTurn();
  const KernelCode kernel;
  if (!kernel.is_fenced()) core.BeginReceive(receive.table(), waiter);
}

}  // namespace internal

Actor::Actor() : context_(internal::MailboxHost::Constructing().core()) {}

void Actor::Become(const Behavior& behavior) {
  UNDERSTUDY_CHECK(behavior.table() != nullptr, "Become of a behavior that was never built");
  const internal::KernelCode kernel;
  if (!kernel.is_fenced()) context_.core().Become(behavior.table());
}

Failure Actor::Fail(absl::Status status) {
  const internal::KernelCode kernel;
  if (!kernel.is_fenced()) context_.core().Fail(status);
  return Failure(std::move(status));
}

void Behavior::Finish() {
  constexpr size_t kClausesMax = 64;  // one bit each while choosing
  UNDERSTUDY_CHECK(table_->clauses.size() <= kClausesMax, "behavior ", table_->name, " has ", table_->clauses.size(),
                   " clauses; at most ", kClausesMax, " are allowed");
  std::vector<int>& ranks = table_->ranks;
  for (const internal::ClauseEntry& clause : table_->clauses) ranks.push_back(clause.rank);
  std::sort(ranks.begin(), ranks.end(), std::greater<>());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  bool has_predicates = false;
  for (const internal::ClauseEntry& clause : table_->clauses) {
    table_->mailboxes |= uint64_t{1} << clause.mailbox;
    table_->has_guards = table_->has_guards || clause.guard != nullptr;
    has_predicates = has_predicates || clause.predicate != nullptr;
  }
  table_->is_simple = ranks.size() <= 1 && !table_->has_guards && !has_predicates;
  for (const internal::TimerEntry& timer : table_->timers) {
    table_->has_idle = table_->has_idle || timer.kind == internal::TimerEntry::Kind::kIdle;
  }
}

}  // namespace understudy

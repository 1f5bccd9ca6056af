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
  ActorCore::OfThisTurn().BeginReceive(receive.table(), waiter);
}

}  // namespace internal

Actor::Actor() : core_(static_cast<internal::ActorCore&>(internal::MailboxHost::Constructing())), context_(core_) {}

void Actor::Become(const Behavior& behavior) {
  UNDERSTUDY_CHECK(behavior.table() != nullptr, "Become of a behavior that was never built");
  core_.Become(behavior.table());
}

Failure Actor::Fail(absl::Status status) {
  core_.Fail(status);
  return Failure(std::move(status));
}

void Behavior::SortRanks() {
  constexpr size_t kClausesMax = 64;  // one bit each while choosing
  UNDERSTUDY_CHECK(table_->clauses.size() <= kClausesMax, "behavior ", table_->name, " has ", table_->clauses.size(),
                   " clauses; at most ", kClausesMax, " are allowed");
  std::vector<int>& ranks = table_->ranks;
  for (const internal::ClauseEntry& clause : table_->clauses) ranks.push_back(clause.rank);
  std::sort(ranks.begin(), ranks.end(), std::greater<>());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
}

}  // namespace understudy

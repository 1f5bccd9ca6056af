// Chooses what an actor handles next: events and messages in the order of arrival, subject to the clauses' guards,
// predicates, ranks and quotas.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "understudy/actors/internal/turn/actor_core.h"

namespace understudy::internal {

// True if there is nothing to do but to handle messages.
bool ActorCore::IsQuiet() const { return rare_->events.empty() && rare_->activations.IsQuiet(); }

BehaviorTable* ActorCore::Effective() {
  if (IsReceiving()) {
    const ReceiveUnderWay& receive = rare_->activations.receive();
    return receive.is_taken ? nullptr : receive.table.get();
  }
  return start_.handles_messages() ? behavior_.get() : nullptr;
}

// The clauses whose guards hold. Ends the actor when one throws.
ClauseSet ActorCore::HoldingGuards(const BehaviorTable& table) {
  ClauseSet holding;
  holding.set();
  if (!table.has_guards()) return holding;
  const BehaviorExtra& extra = *table.extra();
  const std::exception_ptr thrown = CaughtInUserCode([&] {
    for (const uint8_t clause : extra.guarded) {
      if (!extra.clauses[clause].Holds(*actor_)) holding.reset(clause);
    }
  });
  if (is_fenced()) return {};
  if (thrown != nullptr) SetExit(DescribeException(thrown), ExitCause::kOwn);
  return has_exit() ? ClauseSet() : holding;
}

// The first clause from `first` on that takes the message; kNone when none
// does, or a predicate has ended the actor.
size_t ActorCore::ClauseThatTakes(BehaviorTable& table, size_t first, const Envelope& message,
                                  const ClauseSet& guards) {
  for (size_t i = first; i != BehaviorTable::kNone; i = table.Next(i)) {
    if (!guards[i]) continue;
    const ClauseExtra* const extra = table.extra(i);
    if (extra == nullptr || extra->predicate == nullptr) return i;
    bool takes = false;
    const std::exception_ptr thrown = CaughtInUserCode([&] { takes = extra->predicate(message.value()); });
    if (is_fenced()) return BehaviorTable::kNone;
    if (thrown != nullptr) {
      SetExit(DescribeException(thrown), ExitCause::kOwn);
      return BehaviorTable::kNone;
    }
    if (takes) return i;
  }
  return BehaviorTable::kNone;
}

// The first message of the mailbox for each rank of its clauses.
void ActorCore::AddCandidates(BehaviorTable& table, size_t place, const ClauseSet& guards, Choices& candidates) {
  const auto rank_of = [&](size_t clause) { return table.has_ranks() ? table.extra(clause)->rank : 0; };
  size_t first = BehaviorTable::kNone;
  absl::InlinedVector<int, 8> ranks;  // that have no message yet
  for (size_t i = table.ClauseFor(place); i != BehaviorTable::kNone; i = table.Next(i)) {
    if (!guards[i]) continue;
    if (first == BehaviorTable::kNone) first = i;
    if (std::find(ranks.begin(), ranks.end(), rank_of(i)) == ranks.end()) ranks.push_back(rank_of(i));
  }
  Envelope* const newest = cell().queue(place).newest;
  Envelope* before = nullptr;
  while (!ranks.empty() && before != newest) {
    if (before == nullptr) before = newest;
    Envelope* const envelope = before->next;
    const size_t clause = ClauseThatTakes(table, first, *envelope, guards);
    if (ends()) return;
    if (clause != BehaviorTable::kNone) {
      if (const auto rank = std::find(ranks.begin(), ranks.end(), rank_of(clause)); rank != ranks.end()) {
        ranks.erase(rank);
        candidates.push_back({.envelope = envelope, .before = before, .clause = clause});
      }
    }
    before = envelope;
  }
}

ActorCore::Choices ActorCore::Candidates(BehaviorTable& table) {
  const ClauseSet guards = HoldingGuards(table);
  Choices candidates;
  for (uint64_t waiting = has_mail_ & ~closed_mask() & table.mailboxes(); waiting != 0 && !ends();
       waiting &= waiting - 1) {
    AddCandidates(table, static_cast<size_t>(std::countr_zero(waiting)), guards, candidates);
  }
  // With no message to choose, the ranks begin anew from the top. A table without ranks leaves their turn as it is, so
  // that it persists across a Receive without ranks.
  if (candidates.empty() && table.has_ranks()) rank_turns_.Restart();
  return candidates;
}

// Requires that `candidates` is not empty.
ActorCore::Choice ActorCore::ChooseByRank(const BehaviorTable& table, const Choices& candidates) {
  const auto is_older = [](const Choice& a, const Choice& b) { return a.envelope->stamp < b.envelope->stamp; };
  if (!table.has_ranks()) return *std::min_element(candidates.begin(), candidates.end(), is_older);
  const std::vector<int>& ranks = table.extra()->ranks;
  // Without an envelope where the rank has no candidate.
  const auto oldest_of = [&](size_t rank) {
    Choice oldest;
    for (const Choice& candidate : candidates) {
      if (table.extra(candidate.clause)->rank != ranks[rank]) continue;
      if (oldest.envelope == nullptr || is_older(candidate, oldest)) oldest = candidate;
    }
    return oldest;
  };
  return oldest_of(rank_turns_.Next(ranks.size(), [&](size_t rank) -> size_t {
    const Choice oldest = oldest_of(rank);
    return oldest.envelope == nullptr ? 0 : table.extra(oldest.clause)->quota;
  }));
}

bool ActorCore::HandleOne() {
  BehaviorTable* table = Effective();
  if (table == nullptr || (rare_ != nullptr && rare_->activations.IsHeld())) return false;
  if (IsReceiving()) return ReceiveOne(*table);
  uint64_t event = UINT64_MAX;
  if (rare_ != nullptr) {
    EventQueue& events = rare_->events;
    while (!events.empty() && (IsStale(events.front()) || RunsOn(events.front()))) events.Drop(events.begin());
    if (!events.empty()) event = events.front().stamp;
  }
  const Choices candidates = Candidates(*table);
  if (ends()) return false;
  uint64_t earliest = UINT64_MAX;
  for (const Choice& candidate : candidates) earliest = std::min(earliest, candidate.envelope->stamp);
  if (event < earliest) {
    HandleEvent();
    return true;
  }
  if (candidates.empty()) return false;
  HandleMessage(*table, ChooseByRank(*table, candidates));
  return true;
}

}  // namespace understudy::internal

// What an actor handles next: events and messages in the order of arrival,
// within the clauses' guards, predicates, ranks and quotas.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "understudy/actors/internal/actor_core.h"

namespace understudy::internal {

bool ActorCore::IsHeld() const {
  if (rare_ == nullptr || rare_->activations.empty()) return false;
  return std::any_of(rare_->activations.begin(), rare_->activations.end(),
                     [&](const std::unique_ptr<Activation>& activation) {
                       return !activation->is_interleaved && !IsReceiver(*activation);
                     });
}

BehaviorTable* ActorCore::Effective() {
  if (IsReceiving()) return rare_->receives.back().is_taken ? nullptr : rare_->receives.back().table.get();
  return stage_ == Stage::kStartingOpen || stage_ == Stage::kRunning ? behavior_.get() : nullptr;
}

// Bit i is set when clause i's guard holds. Ends the actor when one throws.
uint64_t ActorCore::HoldingGuards(const BehaviorTable& table) {
  const uint64_t guarded = table.extra()->guarded;
  const std::vector<ClauseExtra>& clauses = table.extra()->clauses;
  uint64_t holding = ~guarded;
  const std::exception_ptr thrown = CaughtInUserCode([&] {
    for (uint64_t asked = guarded; asked != 0; asked &= asked - 1) {
      const int clause = std::countr_zero(asked);
      if (clauses[static_cast<size_t>(clause)].guard.Holds(*actor_)) holding |= uint64_t{1} << clause;
    }
  });
  if (is_fenced_) return 0;
  if (thrown != nullptr) SetExit(DescribeException(thrown), ExitCause::kOwn);
  return has_exit_ ? 0 : holding;
}

// The first message of the mailbox that a clause takes, and that clause.
ActorCore::Choice ActorCore::ChooseIn(BehaviorTable& table, size_t place, uint64_t guards) {
  Envelope* const newest = cell().queue(place).newest;
  Envelope* before = newest;
  do {
    Envelope* const envelope = before->next;
    if (!envelope->has(Envelope::kIsPostponed)) {
      bool is_selective = false;
      for (size_t i = 0; i < table.size(); ++i) {
        if (table.mailbox(i) != place || (guards >> i & 1U) == 0) continue;
        is_selective = true;
        const ClauseExtra* const extra = table.extra(i);
        bool takes = extra == nullptr || extra->predicate == nullptr;
        if (!takes) {
          const std::exception_ptr thrown = CaughtInUserCode([&] { takes = extra->predicate(envelope->value()); });
          if (is_fenced_) return {};
          if (thrown != nullptr) {
            SetExit(DescribeException(thrown), ExitCause::kOwn);
            return {};
          }
        }
        if (takes) return {.envelope = envelope, .before = before, .clause = i};
      }
      if (!is_selective) return {};
    }
    before = envelope;
  } while (before != newest);
  return {};
}

ActorCore::Choices ActorCore::Candidates(BehaviorTable& table) {
  const uint64_t guards = table.has_guards() ? HoldingGuards(table) : ~uint64_t{0};
  Choices candidates;
  for (uint64_t waiting = Waiting() & table.mailboxes(); waiting != 0 && !has_exit_ && !is_fenced_;
       waiting &= waiting - 1) {
    const Choice choice = ChooseIn(table, static_cast<size_t>(std::countr_zero(waiting)), guards);
    if (choice.envelope != nullptr) candidates.push_back(choice);
  }
  return candidates;
}

// Ranks take turns from the top, each up to its quota while it has mail. There
// is a candidate.
ActorCore::Choice ActorCore::ChooseByRank(const BehaviorTable& table, const Choices& candidates) {
  const auto is_older = [](const Choice& a, const Choice& b) { return a.envelope->stamp < b.envelope->stamp; };
  if (!table.has_ranks()) return *std::min_element(candidates.begin(), candidates.end(), is_older);
  const std::vector<int>& ranks = table.extra()->ranks;
  for (size_t tried = 0; tried <= ranks.size(); ++tried) {
    Choice best;
    for (const Choice& candidate : candidates) {
      if (table.extra(candidate.clause)->rank != ranks[rank_index_]) continue;
      if (best.envelope == nullptr || is_older(candidate, best)) best = candidate;
    }
    if (best.envelope != nullptr && rank_used_ < table.extra(best.clause)->quota) {
      ++rank_used_;
      return best;
    }
    rank_index_ = static_cast<uint8_t>((rank_index_ + 1U) % ranks.size());
    rank_used_ = 0;
  }
  return {};
}

bool ActorCore::HandleOne() {
  BehaviorTable* table = Effective();
  if (table == nullptr || IsHeld()) return false;
  if (IsReceiving()) return ReceiveOne(*table);
  uint64_t event = UINT64_MAX;
  if (rare_ != nullptr) {
    auto& events = rare_->events;
    while (!events.empty() && IsStale(events.front())) events.pop_front();
    if (!events.empty()) event = events.front().stamp;
  }
  const Choices candidates = Candidates(*table);
  if (has_exit_ || is_fenced_) return false;
  uint64_t earliest = UINT64_MAX;
  for (const Choice& candidate : candidates) earliest = std::min(earliest, candidate.envelope->stamp);
  if (event < earliest) {
    HandleEvent();
    return true;
  }
  if (candidates.empty()) {
    rank_index_ = 0;
    rank_used_ = 0;
    return false;
  }
  HandleMessage(*table, ChooseByRank(*table, candidates));
  return true;
}

}  // namespace understudy::internal

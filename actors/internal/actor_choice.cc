// What an actor handles next: events and messages in the order of arrival,
// within the clauses' guards, predicates, ranks and quotas.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

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
uint64_t ActorCore::HoldingGuards(BehaviorTable& table) {
  uint64_t holding = 0;
  const std::exception_ptr thrown = CaughtInUserCode([&] {
    for (size_t i = 0; i < table.clauses.size(); ++i) {
      const ClauseEntry& clause = table.clauses[i];
      if (clause.guard == nullptr || clause.guard(*actor_)) holding |= uint64_t{1} << i;
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
      for (size_t i = 0; i < table.clauses.size(); ++i) {
        ClauseEntry& clause = table.clauses[i];
        if (clause.mailbox != static_cast<int>(place) || (guards >> i & 1U) == 0) continue;
        is_selective = true;
        bool takes = clause.predicate == nullptr;
        if (!takes) {
          const std::exception_ptr thrown = CaughtInUserCode([&] { takes = clause.predicate(envelope->value()); });
          if (is_fenced_) return {};
          if (thrown != nullptr) {
            SetExit(DescribeException(thrown), ExitCause::kOwn);
            return {};
          }
        }
        if (takes) return {.envelope = envelope, .before = before, .clause = &clause};
      }
      if (!is_selective) return {};
    }
    before = envelope;
  } while (before != newest);
  return {};
}

ActorCore::Choices ActorCore::Candidates(BehaviorTable& table) {
  const uint64_t guards = table.has_guards ? HoldingGuards(table) : ~uint64_t{0};
  Choices candidates;
  for (uint64_t waiting = Waiting() & table.mailboxes; waiting != 0 && !has_exit_ && !is_fenced_;
       waiting &= waiting - 1) {
    const Choice choice = ChooseIn(table, static_cast<size_t>(std::countr_zero(waiting)), guards);
    if (choice.clause != nullptr) candidates.push_back(choice);
  }
  return candidates;
}

// Ranks take turns from the top, each up to its quota while it has mail.
ActorCore::Choice ActorCore::ChooseByRank(const BehaviorTable& table, const Choices& candidates) {
  for (size_t tried = 0; tried <= table.ranks.size(); ++tried) {
    const int rank = table.ranks[rank_index_];
    Choice best;
    for (const Choice& candidate : candidates) {
      if (candidate.clause->rank != rank) continue;
      if (best.clause == nullptr || candidate.envelope->stamp < best.envelope->stamp) best = candidate;
    }
    if (best.clause != nullptr && rank_used_ < best.clause->quota) {
      ++rank_used_;
      return best;
    }
    rank_index_ = static_cast<uint8_t>((rank_index_ + 1U) % table.ranks.size());
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
  HandleMessage(ChooseByRank(*table, candidates));
  return true;
}

}  // namespace understudy::internal

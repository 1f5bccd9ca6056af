// MailChoice: chooses the message that a behavior with guards, predicates, ranks and quotas handles next.
//
// A plain state machine: it calls no user code. It is told which guards hold and which messages wait, asks its caller
// what a predicate says, and answers with the oldest message of the rank whose turn it is. Make one for each choice.
// Owner's turn only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_MAIL_CHOICE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_MAIL_CHOICE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/internal/turn/behavior_table.h"
#include "understudy/actors/internal/turn/rank_turns.h"

namespace understudy::internal {

// A message that may be handled next, and the clause that would take it.
struct Choice {
  Envelope* envelope = nullptr;
  Envelope* before = nullptr;  // precedes `envelope` in the ring of its mailbox
  size_t clause = 0;
};

class MailChoice {
 public:
  // `guards` are the clauses of `table` whose guards hold. `table` must outlive this object.
  MailChoice(BehaviorTable& table, const ClauseSet& guards) : table_(table), guards_(guards) {}

  // Adds the messages of mailbox `place` that may be next: for each rank of its clauses the first message that a clause
  // of that rank takes. `newest` is the newest of the mailbox's ring. `says(clause, message)` returns what the
  // clause's predicate says of the message; nullopt if the choice is to end. Then Add returns false.
  template <class Says>
  [[nodiscard]] bool Add(size_t place, Envelope* newest, const Says& says);

  // True if no message may be next.
  bool empty() const { return candidates_.empty(); }
  // The stamp of the oldest message that may be next; the largest number if there is none.
  uint64_t oldest() const;
  // The message that is next. `turns` says which rank is served, and counts the message. Requires !empty().
  Choice Choose(RankTurns& turns) const;

 private:
  int RankOf(size_t clause) const { return table_.has_ranks() ? table_.extra(clause)->rank : 0; }
  // The first clause from `first` on that takes the message, kNone if none does; nullopt if `says` returned nullopt.
  template <class Says>
  absl::optional<size_t> ClauseThatTakes(size_t first, const Envelope& message, const Says& says) const;
  // The oldest message that a clause of `rank` takes; without an envelope if there is none.
  Choice OldestOf(int rank) const;

  BehaviorTable& table_;
  const ClauseSet guards_;
  absl::InlinedVector<Choice, 8> candidates_;
};

template <class Says>
absl::optional<size_t> MailChoice::ClauseThatTakes(size_t first, const Envelope& message, const Says& says) const {
  for (size_t i = first; i != BehaviorTable::kNone; i = table_.Next(i)) {
    if (!guards_[i]) continue;
    const ClauseExtra* const extra = table_.extra(i);
    if (extra == nullptr || extra->predicate == nullptr) return i;
    const absl::optional<bool> takes = says(*extra, message);
    if (!takes.has_value()) return absl::nullopt;
    if (*takes) return i;
  }
  return size_t{BehaviorTable::kNone};
}

template <class Says>
bool MailChoice::Add(size_t place, Envelope* newest, const Says& says) {
  size_t first = BehaviorTable::kNone;
  absl::InlinedVector<int, 8> ranks;  // that have no message yet
  for (size_t i = table_.ClauseFor(place); i != BehaviorTable::kNone; i = table_.Next(i)) {
    if (!guards_[i]) continue;
    if (first == BehaviorTable::kNone) first = i;
    if (std::find(ranks.begin(), ranks.end(), RankOf(i)) == ranks.end()) ranks.push_back(RankOf(i));
  }
  Envelope* before = nullptr;
  while (!ranks.empty() && before != newest) {
    if (before == nullptr) before = newest;
    Envelope* const envelope = before->next;
    const absl::optional<size_t> clause = ClauseThatTakes(first, *envelope, says);
    if (!clause.has_value()) return false;
    if (*clause != BehaviorTable::kNone) {
      if (const auto rank = std::find(ranks.begin(), ranks.end(), RankOf(*clause)); rank != ranks.end()) {
        ranks.erase(rank);
        candidates_.push_back({.envelope = envelope, .before = before, .clause = *clause});
      }
    }
    before = envelope;
  }
  return true;
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_MAIL_CHOICE_H_

#include "understudy/actors/internal/turn/behavior_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "understudy/actors/check.h"
#include "understudy/actors/internal/memory/destruction_queue.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/internal/turn/handler.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

BehaviorTable* BehaviorTable::Make(absl::string_view name, BehaviorDraft draft) {
  const size_t count = draft.clauses.size();
  UNDERSTUDY_CHECK(count <= kClausesMax, "behavior ", name, " has ", count, " clauses; at most ", kClausesMax,
                   " are allowed");
  name = name.substr(0, kNameBytesMax);
  bool is_in_order = true;
  size_t mailboxes_end = 0;
  for (size_t i = 0; i < count; ++i) {
    is_in_order = is_in_order && draft.clauses[i].mailbox == i;
    mailboxes_end = std::max<size_t>(mailboxes_end, draft.clauses[i].mailbox + size_t{1});
  }
  const size_t place_count = is_in_order ? 0 : mailboxes_end;
  const size_t bytes =
      sizeof(BehaviorTable) + count * (sizeof(MessageHandler) + sizeof(ClauseMark)) + place_count + name.size();
  auto* const table = new (::operator new(bytes)) BehaviorTable;
  table->clause_count_ = static_cast<uint8_t>(count);
  table->place_count_ = static_cast<uint8_t>(place_count);
  table->name_size_ = static_cast<uint8_t>(name.size());
  table->marks_ = is_in_order ? kIsInOrder : 0;
  std::memcpy(table->name_bytes(), name.data(), name.size());
  table->PlaceClauses(draft);
  table->MakeClauseExtras(draft);
  bool has_idle = false;
  for (const TimerEntry& timer : draft.timers) has_idle = has_idle || timer.kind == TimerEntry::Kind::kIdle;
  if (has_idle) table->marks_ |= kHasIdle;
  if (!draft.timers.empty()) table->MakeExtra().timers = std::move(draft.timers);
  if (!draft.events.empty()) table->MakeExtra().events = std::move(draft.events);
  return table;
}

void BehaviorTable::Delete(BehaviorTable* table) {
  // Another thread may be reading the name, if the table was its actor's current one when it began (InspectQueued).
  if (const CurrentTurn& turn = ThisTurn(); turn.system != nullptr) turn.system->look_guard().AwaitEnd(turn.cell);
  std::unique_ptr<BehaviorTable, Deleter> owned(table);
  if (DestructionQueue* const remains = DestructionQueue::Gathering(); remains != nullptr) {
    remains->Add(MakeEnvelope(EnvelopeKind::kBox, std::move(owned)));
  }
}

void BehaviorTable::Deleter::operator()(BehaviorTable* table) const {
  std::destroy_n(table->handlers(), table->clause_count_);
  table->~BehaviorTable();
  ::operator delete(table);
}

void BehaviorTable::PlaceClauses(BehaviorDraft& draft) {
  // From the last, so that each finds the next of its mailbox.
  std::array<uint8_t, limits::kMailboxesPerActorMax> firsts;
  firsts.fill(kNone);
  for (size_t i = clause_count_; i-- > 0;) {
    ClauseDraft& clause = draft.clauses[i];
    uint8_t& first = firsts[clause.mailbox];
    new (handlers() + i) MessageHandler(std::move(clause.handler));
    new (clause_marks() + i)
        ClauseMark{.mailbox = clause.mailbox, .next = first, .is_interleaved = clause.is_interleaved};
    first = static_cast<uint8_t>(i);
    mailboxes_ |= uint64_t{1} << clause.mailbox;
  }
  std::copy_n(firsts.begin(), place_count_, places());
}

void BehaviorTable::MakeClauseExtras(BehaviorDraft& draft) {
  const bool has_any = std::any_of(draft.clauses.begin(), draft.clauses.end(),
                                   [](const ClauseDraft& clause) { return clause.extra != nullptr; });
  if (!has_any) {
    marks_ |= kIsSimple;
    return;
  }
  BehaviorExtra& extra = MakeExtra();
  extra.clauses.reserve(clause_count_);
  bool has_predicates = false;
  for (ClauseDraft& draft_clause : draft.clauses) {
    ClauseExtra clause = draft_clause.extra == nullptr ? ClauseExtra() : std::move(*draft_clause.extra);
    if (!clause.guard.is_always()) extra.guarded.push_back(static_cast<uint8_t>(extra.clauses.size()));
    has_predicates = has_predicates || clause.predicate != nullptr;
    extra.ranks.push_back(clause.rank);
    extra.clauses.push_back(std::move(clause));
  }
  std::sort(extra.ranks.begin(), extra.ranks.end(), std::greater<>());
  extra.ranks.erase(std::unique(extra.ranks.begin(), extra.ranks.end()), extra.ranks.end());
  if (extra.ranks.size() == 1) extra.ranks = {};
  if (!extra.ranks.empty()) marks_ |= kHasRanks;
  if (!extra.guarded.empty()) marks_ |= kHasGuards;
  if (extra.ranks.empty() && extra.guarded.empty() && !has_predicates) marks_ |= kIsSimple;
}

void SharedHandler::DestroyLater(MessageHandler&& handler) {
  if (DestructionQueue* const remains = DestructionQueue::Gathering(); remains != nullptr) {
    remains->Add(MakeEnvelope(EnvelopeKind::kBox, std::move(handler)));
  }
}

}  // namespace understudy::internal

#include "understudy/actors/internal/asks/ask_table.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "understudy/actors/check.h"

namespace understudy::internal {
namespace {

// When the last entry is freed, a table with more slots than this gives its memory back.
constexpr size_t kSlotsKeptMax = 1024;
// The heap of deadlines is not cleaned for fewer stale deadlines than this.
constexpr size_t kStaleDeadlinesMin = 16;

}  // namespace

const AskTable::Slot* AskTable::Find(uint64_t id) const {
  const size_t index = id & ((uint64_t{1} << kIndexBits) - 1);
  if (id == 0 || index >= slots_.size() || slots_[index].id != id) return nullptr;
  return &slots_[index];
}

uint64_t AskTable::Add(Pid callee, MonotonicTime deadline) {
  if (size_ >= limits::kAsksPerActorMax) return 0;
  uint32_t index = first_free_;
  if (index == kNoSlot) {
    index = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    first_free_ = slots_[index].next_free;
  }
  ++size_;
  Slot& slot = slots_[index];
  slot.id = ++last_serial_ << kIndexBits | index;
  slot.callee = callee;
  slot.deadline = deadline;
  AddDeadline(deadline, slot.id);
  return slot.id;
}

void AskTable::SetDeadline(uint64_t id, MonotonicTime deadline) {
  Slot* slot = Find(id);
  UNDERSTUDY_CHECK(slot != nullptr, "no ask ", id);
  slot->deadline = deadline;
  AddDeadline(deadline, id);
}

uint64_t AskTable::AnsweredAs(uint64_t id) const {
  const Slot* slot = Find(id);
  return slot == nullptr ? 0 : slot->answered;
}

bool AskTable::HasGoodAnswer(uint64_t id) const {
  const Slot* slot = Find(id);
  return slot != nullptr && slot->answered != 0 && slot->answer.status.ok();
}

bool AskTable::IsAwaited(uint64_t id) const {
  const Slot* slot = Find(id);
  return slot != nullptr && (slot->waiter.handle != nullptr || slot->group != nullptr);
}

Pid AskTable::CalleeOf(uint64_t id) const {
  const Slot* slot = Find(id);
  return slot == nullptr ? Pid() : slot->callee;
}

absl::optional<Waiter> AskTable::Answered(uint64_t id, Answer&& answer) {
  Slot* slot = Find(id);
  if (slot == nullptr || slot->answered != 0) return absl::nullopt;
  slot->answered = ++last_answer_;
  slot->answer = std::move(answer);
  GroupWait* group = slot->group;
  if (group == nullptr) return slot->waiter;
  if (group->is_over()) return Waiter();  // an earlier answer has made the group's coroutine resumable
  group->Count(slot->answer.status.ok());
  return group->is_over() ? group->waiter : Waiter();
}

void AskTable::Await(uint64_t id, Waiter waiter) {
  UNDERSTUDY_CHECK(!IsAwaited(id), "a Pending is awaited by two coroutines; await each once");
  Find(id)->waiter = waiter;
}

void AskTable::Join(uint64_t id, GroupWait* group) {
  UNDERSTUDY_CHECK(!IsAwaited(id), "a Pending is awaited by two, or is twice in one group; await each once");
  Find(id)->group = group;
}

void AskTable::StopWaiting(uint64_t id) {
  Slot* slot = Find(id);
  if (slot == nullptr) return;
  slot->waiter = {};
  slot->group = nullptr;
  // An entry that is answered and awaited has no live deadline, so its deadline may have been removed from the heap.
  // The entry is not awaited any more: its deadline frees it unless the answer is taken before.
  if (slot->answered != 0) AddDeadline(slot->deadline, id);
}

absl::optional<Answer> AskTable::Take(uint64_t id) {
  Slot* slot = Find(id);
  if (slot == nullptr) return absl::nullopt;
  Answer answer = std::move(slot->answer);
  Free(*slot);
  return answer;
}

void AskTable::Free(Slot& slot) {
  // The last element of a heap can be removed without a search. An actor that asks one thing after the other thus
  // leaves no stale deadlines.
  if (!deadlines_.empty() && deadlines_.back().id == slot.id) deadlines_.pop_back();
  const auto index = static_cast<uint32_t>(&slot - slots_.data());
  slot.id = 0;
  slot.answered = 0;
  slot.answer = {};
  slot.waiter = {};
  slot.group = nullptr;
  slot.notes = nullptr;
  slot.next_free = first_free_;
  first_free_ = index;
  if (--size_ > 0) return;
  for_calls_.clear();
  if (slots_.size() <= kSlotsKeptMax) return;
  std::vector<AskForCall>().swap(for_calls_);
  std::vector<Slot>().swap(slots_);
  std::vector<Deadline>().swap(deadlines_);
  first_free_ = kNoSlot;
}

bool AskTable::IsLive(const Deadline& deadline) const {
  const Slot* slot = Find(deadline.id);
  return slot != nullptr && slot->deadline == deadline.time && !(slot->answered != 0 && IsAwaited(deadline.id));
}

void AskTable::AddDeadline(MonotonicTime time, uint64_t id) {
  if (time.is_infinite()) return;
  if (deadlines_.size() >= 2 * size_ + kStaleDeadlinesMin) {
    deadlines_.erase(std::remove_if(deadlines_.begin(), deadlines_.end(),
                                    [this](const Deadline& deadline) { return !IsLive(deadline); }),
                     deadlines_.end());
    std::make_heap(deadlines_.begin(), deadlines_.end());
  }
  deadlines_.push_back({.time = time, .id = id});
  std::push_heap(deadlines_.begin(), deadlines_.end());
}

void AskTable::RemoveStaleFromTop() {
  while (!deadlines_.empty() && !IsLive(deadlines_.front())) {
    std::pop_heap(deadlines_.begin(), deadlines_.end());
    deadlines_.pop_back();
  }
}

MonotonicTime AskTable::NextDeadline() {
  RemoveStaleFromTop();
  return deadlines_.empty() ? MonotonicTime::InfiniteFuture() : deadlines_.front().time;
}

uint64_t AskTable::PopDue(MonotonicTime now) {
  RemoveStaleFromTop();
  if (deadlines_.empty() || deadlines_.front().time > now) return 0;
  const uint64_t id = deadlines_.front().id;
  std::pop_heap(deadlines_.begin(), deadlines_.end());
  deadlines_.pop_back();
  return id;
}

bool AskTable::IsUnderWay(uint64_t id) const {
  const Slot* slot = Find(id);
  return slot != nullptr && slot->answered == 0;
}

void AskTable::NoteForCall(uint64_t id, Pid asker, uint64_t call) {
  if (for_calls_.size() == for_calls_.capacity()) {
    for_calls_.erase(std::remove_if(for_calls_.begin(), for_calls_.end(),
                                    [this](const AskForCall& ask) { return !IsUnderWay(ask.id); }),
                     for_calls_.end());
    for_calls_.reserve(2 * for_calls_.size() + 4);
  }
  for_calls_.push_back({.asker = asker, .call = call, .id = id});
}

std::vector<uint64_t> AskTable::AsksForCall(Pid asker, uint64_t call) const {
  std::vector<uint64_t> ids;
  for (const AskForCall& made : for_calls_) {
    if (made.call == call && made.asker == asker && IsUnderWay(made.id)) ids.push_back(made.id);
  }
  return ids;
}

AskNotes* AskTable::FindNotes(uint64_t id) {
  Slot* slot = Find(id);
  return slot == nullptr ? nullptr : slot->notes.get();
}

AskNotes& AskTable::NotesOf(uint64_t id) {
  Slot* slot = Find(id);
  UNDERSTUDY_CHECK(slot != nullptr, "no ask ", id);
  if (slot->notes == nullptr) slot->notes = std::make_unique<AskNotes>();
  return *slot->notes;
}

bool AskTable::TakeClose(uint64_t id, int mailbox) {
  AskNotes* notes = FindNotes(id);
  if (notes == nullptr) return false;
  const auto close = std::find(notes->closes.begin(), notes->closes.end(), mailbox);
  if (close == notes->closes.end()) return false;
  notes->closes.erase(close);
  return true;
}

std::vector<uint64_t> AskTable::All() const {
  std::vector<uint64_t> ids;
  ids.reserve(size_);
  for (const Slot& slot : slots_) {
    if (slot.id != 0) ids.push_back(slot.id);
  }
  return ids;
}

std::vector<Answer> AskTable::TakeAnswers() {
  std::vector<Answer> answers;
  for (Slot& slot : slots_) {
    if (slot.answered != 0) answers.push_back(std::exchange(slot.answer, {}));
  }
  return answers;
}

}  // namespace understudy::internal

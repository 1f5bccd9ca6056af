#include "understudy/actors/internal/asks/ask_table.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"

namespace understudy::internal {
namespace {

// When the last entry is freed, a table with more slots than this gives its memory back.
constexpr size_t kSlotsKeptMax = 1024;
// The heap of deadlines is not cleaned for fewer stale deadlines than this.
constexpr size_t kStaleDeadlinesMin = 16;

EndSpan Ended(Span span, absl::StatusCode status) {
  span.status = status;
  return {span};
}

}  // namespace

const AskTable::Slot* AskTable::Find(uint64_t id) const {
  const size_t index = id & ((uint64_t{1} << kIndexBits) - 1);
  if (id == 0 || index >= slots_.size() || slots_[index].id != id) return nullptr;
  return &slots_[index];
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline AskTable::Slot* AskTable::NewSlot(Pid callee, MonotonicTime deadline,
                                                                      uint64_t kind) {
  if (size_ >= limits::kAsksPerActorMax) return nullptr;
  uint32_t index = first_free_;
  if (index == kNoSlot) {
    index = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    first_free_ = slots_[index].next_free;
  }
  ++size_;
  Slot& slot = slots_[index];
  slot.id = ++last_serial_ << kIndexBits | index | kind;
  slot.callee = callee;
  slot.deadline = deadline;
  AddDeadline(deadline, slot.id);
  return &slot;
}

uint64_t AskTable::Add(Pid callee, MonotonicTime deadline) {
  const Slot* const slot = NewSlot(callee, deadline, /*kind=*/0);
  return slot == nullptr ? 0 : slot->id;
}

uint64_t AskTable::AddWithItems(Pid callee, MonotonicTime deadline, uint64_t kind) {
  const Slot* const slot = NewSlot(callee, deadline, kind);
  if (slot == nullptr) return 0;
  const uint64_t id = slot->id;
  NotesOf(id).has_items = true;
  if (IsStreamAsk(kind)) streams().AddIncoming(StreamTable::Own(id));
  if (IsUploadAsk(kind)) streams().AddOutgoing(StreamTable::Own(id))->AwaitReader();
  return id;
}

StreamTable& AskTable::streams() {
  if (streams_ == nullptr) streams_ = std::make_unique<StreamTable>();
  return *streams_;
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
  if (id == kDone) return true;
  const Slot* slot = Find(id);
  return slot != nullptr && slot->answered != 0 && slot->answer.status.ok();
}

absl::Status AskTable::StatusOf(uint64_t id) const {
  const Slot* slot = Find(id);
  if (slot == nullptr || slot->answered == 0) return MakeError(ErrorKind::kExpired, "no answer within the deadline");
  return slot->answer.status;
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

std::vector<AskAction> AskTable::Settle(uint64_t id) {
  std::vector<AskAction> actions;
  Slot* slot = Find(id);
  if (slot == nullptr || slot->notes == nullptr) return actions;
  Notes& notes = *slot->notes;
  if (notes.name_watch != 0) actions.emplace_back(EndNameWatch{std::exchange(notes.name_watch, 0)});
  // A name that was not published after all is not known on this node either.
  std::string publishes = std::exchange(notes.publishes, {});
  if (!publishes.empty() && !HasGoodAnswer(id)) actions.emplace_back(RemoveName{std::move(publishes)});
  for (const int mailbox : std::exchange(notes.closes, {})) actions.emplace_back(ReopenMailbox{mailbox});
  if (notes.span != nullptr) actions.emplace_back(Ended(*notes.span, slot->answer.status.code()));
  notes.span = nullptr;
  if (notes.has_items) actions.emplace_back(EndStreams{id});
  return actions;
}

void AskTable::NoteSpan(uint64_t id, const Span& span) { NotesOf(id).span = std::make_unique<Span>(span); }

std::vector<Pid> AskTable::OpenCallees(size_t at_most) const {
  std::vector<Pid> callees;
  for (const Slot& slot : slots_) {
    if (callees.size() == at_most) break;
    if (slot.id != 0 && slot.answered == 0 && !slot.callee.is_null()) callees.push_back(slot.callee);
  }
  return callees;
}

void AskTable::AddTellCallee(const Slot& slot, std::vector<AskAction>& actions) {
  if (slot.answered != 0 || slot.callee.is_null()) return;
  actions.emplace_back(TellCallee{.callee = slot.callee, .ask = slot.id});
}

std::vector<AskAction> AskTable::GiveUp(uint64_t id) const {
  std::vector<AskAction> actions;
  if (const Slot* slot = Find(id); slot != nullptr) AddTellCallee(*slot, actions);
  return actions;
}

void AskTable::Await(uint64_t id, Waiter waiter) {
  Slot* slot = Find(id);
  UNDERSTUDY_CHECK(!IsAwaited(*slot), "a Pending is awaited by two coroutines; await each once");
  slot->waiter = waiter;
}

bool AskTable::Join(absl::Span<const PendingId> pendings, GroupWait& group) {
  size_t under_way = 0;
  // Asks that are answered already join too, so that their answers are kept until the group has been resumed.
  for (const PendingId& pending : pendings) {
    Slot* slot = Find(pending.id);
    if (slot == nullptr) continue;
    UNDERSTUDY_CHECK(!IsAwaited(*slot), "a Pending is awaited by two, or is twice in one group; await each once");
    slot->group = &group;
    if (slot->answered == 0) ++under_way;
  }
  // Only a group that needs all its answers waits for each of them; one that is content with fewer may go on without an
  // answer that does not come.
  return group.good_left > pendings.size() && group.bad_left > pendings.size() && group.answers_left == under_way;
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

Answer AskTable::AnswerWithoutEntry(const PendingId& pending, MonotonicTime now) {
  if (pending.id == kDone) return {};
  if (pending.id == 0) {
    return {.status = MakeError(ErrorKind::kFull, absl::StrCat("an actor has at most ", limits::kAsksPerActorMax,
                                                               " asks under way; await some first"))};
  }
  UNDERSTUDY_CHECK(now >= pending.deadline, "a Pending of ", pending.asker.ToString(),
                   " is awaited a second time; await each once, and keep the answer");
  return {.status = MakeError(ErrorKind::kExpired, "it was awaited after its deadline")};
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
  return slot != nullptr && slot->deadline == deadline.time && !(slot->answered != 0 && IsAwaited(*slot));
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

absl::optional<DueAsk> AskTable::NextDue(MonotonicTime now) {
  const uint64_t id = PopDue(now);
  if (id == 0) return absl::nullopt;
  Slot& slot = *Find(id);
  const Notes* notes = slot.notes.get();
  const bool waits_for_room = notes != nullptr && !notes->waits_for_room.is_null();
  absl::optional<DueAsk> due = DueAsk{.id = id};
  AddTellCallee(slot, due->actions);
  if (waits_for_room && notes->is_room_elsewhere) due->actions.emplace_back(StopWaitingForNode{id});
  if (!IsAwaited(slot)) {
    // An ask that is awaited only after this gives Expired.
    for (AskAction& action : Settle(id)) due->actions.push_back(std::move(action));
    due->answer = NobodyAwaits{std::move(slot.answer.payload)};
    Free(slot);
  } else if (waits_for_room) {
    due->answer = NoRoomCame{notes->is_room_elsewhere ? Pid() : notes->waits_for_room};
  } else if (notes != nullptr && !notes->looks_up.empty()) {
    due->answer = NameHasNoOwner{notes->looks_up};
  }
  return due;
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

std::vector<uint64_t> AskTable::AsksForCalls(absl::Span<const std::pair<Pid, uint64_t>> calls) const {
  std::vector<uint64_t> ids;
  for (const AskForCall& made : for_calls_) {
    const std::pair call(made.asker, made.call);
    if (std::binary_search(calls.begin(), calls.end(), call) && IsUnderWay(made.id)) ids.push_back(made.id);
  }
  return ids;
}

AskTable::Notes& AskTable::NotesOf(uint64_t id) {
  Slot* slot = Find(id);
  UNDERSTUDY_CHECK(slot != nullptr, "no ask ", id);
  if (slot->notes == nullptr) slot->notes = std::make_unique<Notes>();
  return *slot->notes;
}

void AskTable::LooksUp(uint64_t id, std::string name, uint64_t watch) {
  Notes& notes = NotesOf(id);
  notes.looks_up = std::move(name);
  notes.name_watch = watch;
}

void AskTable::Publishes(uint64_t id, std::string name) { NotesOf(id).publishes = std::move(name); }

void AskTable::WaitsForRoom(uint64_t id, Pid receiver, RoomIn where) {
  Notes& notes = NotesOf(id);
  notes.waits_for_room = receiver;
  notes.is_room_elsewhere = where == RoomIn::kOtherNode;
}

bool AskTable::CloseUntilAnswered(uint64_t id, int mailbox) {
  if (!IsUnderWay(id)) return false;
  NotesOf(id).closes.push_back(mailbox);
  return true;
}

bool AskTable::TakeClose(uint64_t id, int mailbox) {
  Slot* slot = Find(id);
  if (slot == nullptr || slot->notes == nullptr) return false;
  std::vector<int>& closes = slot->notes->closes;
  const auto close = std::find(closes.begin(), closes.end(), mailbox);
  if (close == closes.end()) return false;
  closes.erase(close);
  return true;
}

std::vector<AskAction> AskTable::End() const {
  std::vector<AskAction> actions;
  for (const Slot& slot : slots_) {
    if (slot.id == 0) continue;
    AddTellCallee(slot, actions);
    if (slot.notes == nullptr) continue;
    const Notes& notes = *slot.notes;
    if (notes.name_watch != 0) actions.emplace_back(EndNameWatch{notes.name_watch});
    if (notes.span != nullptr) actions.emplace_back(Ended(*notes.span, absl::StatusCode::kCancelled));
    if (notes.waits_for_room.is_null()) continue;
    if (notes.is_room_elsewhere) {
      actions.emplace_back(StopWaitingForNode{slot.id});
    } else {
      actions.emplace_back(TakeBackMessage{.receiver = notes.waits_for_room, .ask = slot.id});
    }
  }
  return actions;
}

std::vector<Answer> AskTable::TakeAnswers() {
  std::vector<Answer> answers;
  for (Slot& slot : slots_) {
    if (slot.answered != 0) answers.push_back(std::exchange(slot.answer, {}));
  }
  if (streams_ == nullptr) return answers;
  for (Payload& item : streams_->TakeAll()) answers.push_back({.status = absl::OkStatus(), .payload = std::move(item)});
  return answers;
}

}  // namespace understudy::internal

#include "understudy/actors/channel.h"

#include <string>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/actor_core.h"
#include "understudy/actors/internal/system_core.h"
#include "understudy/actors/internal/worker.h"
#include "understudy/actors/named.h"
#include "understudy/actors/pending.h"
#include "understudy/actors/replier.h"

namespace understudy::internal {
namespace {

// The system that a send from this thread goes through; null when `to` is no
// actor of any.
SystemCore* SystemForSend(Pid to) {
  if (SystemCore* system = ThisTurn().system; system != nullptr) return system;
  const NodeEntry* entry = NodeTable::Find(to.node());
  return entry == nullptr ? nullptr : const_cast<SystemCore*>(static_cast<const SystemCore*>(entry->system));
}

absl::Status NobodyError(Pid to) {
  if (to.is_unnamed()) return MakeError(ErrorKind::kNoName, "no actor has that name now");
  if (to.is_null()) return MakeError(ErrorKind::kNoProcess, "the channel was never given an actor");
  return MakeError(ErrorKind::kNoProcess, absl::StrCat("the actor system of ", to.ToString(), " has ended"));
}

// The turn's actor was killed, and its handler runs on. Read from its code: one
// send may still get through.
bool IsFenced(const CurrentTurn& turn) {
  return turn.worker != nullptr && turn.worker->is_fenced.load(std::memory_order_relaxed);
}

absl::Status FencedError() {
  return MakeError(ErrorKind::kCancelled, "the actor was killed, and its handler has not returned since");
}

ActorCore& OwnerOf(PendingId pending) {
  ActorCore* core = ActorCore::OfThisTurn(pending.asker);
  UNDERSTUDY_CHECK(core != nullptr, "a Pending of ", pending.asker.ToString(), " is used by another actor or thread");
  return *core;
}

}  // namespace

absl::Status SendTell(Pid to, uint32_t mailbox, const MessageType& type, const void* value, Handing handing) {
  const CurrentTurn& turn = ThisTurn();
  if (ABSL_PREDICT_FALSE(IsFenced(turn))) return FencedError();
  SystemCore* system = SystemForSend(to);
  if (system == nullptr) return NobodyError(to);
  absl::Status sent =
      system->Send({.from = turn.self, .to = to, .mailbox = mailbox, .type = &type, .value = value}, handing);
  if (ABSL_PREDICT_FALSE(!sent.ok())) system->CountRefused();
  return sent;
}

void TellOrBury(Pid to, uint32_t mailbox, const MessageType& type, const void* value, Handing handing) {
  absl::Status sent = SendTell(to, mailbox, type, value, handing);
  if (ABSL_PREDICT_TRUE(sent.ok())) return;
  SystemCore* system = SystemForSend(to);
  if (system == nullptr) return;
  system->OnDeadLetter({.why = std::move(sent),
                        .from = ThisTurn().self,
                        .to = to,
                        .mailbox = std::string(MailboxNames::Find(mailbox)),
                        .type = type.name()});
}

PendingId SendCall(Pid to, uint32_t mailbox, const MessageType& type, void* value, absl::Duration timeout) {
  UNDERSTUDY_CHECK(ThisTurn().actor != nullptr, "Ask on a plain thread; use ActorSystem::Ask there");
  const KernelCode kernel;
  if (ABSL_PREDICT_FALSE(kernel.is_fenced())) return CancelledAsk();
  ActorCore& core = *ThisTurn().actor;
  const MonotonicTime deadline = core.DeadlineWithin(timeout);
  const uint64_t id = core.NewAsk(to, deadline);
  if (id == 0) return {core.self(), id};
  absl::Status sent = to.is_null() ? NobodyError(to)
                                   : core.system().Send({.from = core.self(),
                                                         .to = to,
                                                         .mailbox = mailbox,
                                                         .ask = id,
                                                         .deadline = deadline,
                                                         .type = &type,
                                                         .value = value},
                                                        Handing::kMove);
  if (!sent.ok()) {
    core.system().CountRefused();
    core.Answered(id, std::move(sent), {});
  }
  return {core.self(), id};
}

PendingId CancelledAsk() { return {.asker = Pid(), .id = 0}; }

bool IsAnswered(PendingId pending) {
  const KernelCode kernel;
  return kernel.is_fenced() || OwnerOf(pending).IsAnswered(pending.id);
}
void AwaitAnswer(PendingId pending, std::coroutine_handle<> waiter) {
  const KernelCode kernel;
  if (!kernel.is_fenced()) OwnerOf(pending).AwaitAnswer(pending.id, waiter);
}
Answer TakeAnswer(PendingId pending) {
  const KernelCode kernel;
  if (kernel.is_fenced()) return {.status = FencedError()};
  return OwnerOf(pending).TakeAnswer(pending.id);
}
void CancelPending(PendingId pending) {
  const KernelCode kernel;
  if (!kernel.is_fenced()) OwnerOf(pending).CancelAsk(pending.id);
}

Pid Resolve(absl::string_view name, SystemCore* system) {
  if (system == nullptr) system = &SystemOfThisThread();
  const absl::optional<NameRecord> record = system->registry().Find(name);
  return record ? record->pid : Pid::Unnamed();
}

ReplierBase::ReplierBase(Activation& activation)
    : system_(&activation.core().system()),
      callee_(activation.core().self()),
      asker_(activation.asker()),
      ask_(activation.ask()) {
  activation.GiveAwayAnswer();
}

void ReplierBase::Post(absl::Status status, Payload payload) {
  UNDERSTUDY_CHECK(system_ != nullptr, "a Replier answers once; this one has answered or was moved from");
  SystemCore* system = std::exchange(system_, nullptr);
  system->Post({.kind = SignalKind::kReply,
                .from = callee_,
                .to = asker_,
                .id = ask_,
                .status = std::move(status),
                .payload = std::move(payload)});
}

void ReplierBase::Abandon() {
  if (system_ == nullptr) return;
  const KernelCode kernel;
  ActorCore* holder = ThisTurn().actor;
  if (holder != nullptr && holder->ending() != nullptr) {
    Post(CalleeExitedError(holder->self().ToString(), *holder->ending()), {});
  } else if (holder != nullptr && holder->self() == callee_ && holder->TakeBackAnswer(asker_, ask_)) {
    system_ = nullptr;  // the handler's end answers: it may have failed
  } else {
    Post(UnansweredError(callee_), {});
  }
}

}  // namespace understudy::internal

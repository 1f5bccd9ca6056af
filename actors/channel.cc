#include "understudy/actors/channel.h"

#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/actor_core.h"
#include "understudy/actors/internal/system_core.h"
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

ActorCore& OwnerOf(PendingId pending) {
  ActorCore* core = ActorCore::OfThisTurn(pending.asker);
  UNDERSTUDY_CHECK(core != nullptr, "a Pending of ", pending.asker.ToString(), " is used by another actor or thread");
  return *core;
}

}  // namespace

absl::Status SendTell(Pid to, uint32_t mailbox, const MessageType& type, const void* value,
                      absl::FunctionRef<Payload()> take) {
  SystemCore* system = SystemForSend(to);
  if (system == nullptr) return NobodyError(to);
  absl::Status sent =
      system->Send({.from = ThisTurn().self, .to = to, .mailbox = mailbox, .type = &type, .value = value}, take);
  if (!sent.ok()) system->CountRefused();
  return sent;
}

void TellOrBury(Pid to, uint32_t mailbox, const MessageType& type, const void* value,
                absl::FunctionRef<Payload()> take) {
  absl::Status sent = SendTell(to, mailbox, type, value, take);
  if (sent.ok()) return;
  SystemCore* system = SystemForSend(to);
  if (system == nullptr) return;
  system->OnDeadLetter({.why = std::move(sent),
                        .from = ThisTurn().self,
                        .to = to,
                        .mailbox = std::string(MailboxNames::Find(mailbox)),
                        .type = type.name});
}

PendingId SendCall(Pid to, uint32_t mailbox, const MessageType& type, const void* value,
                   absl::FunctionRef<Payload()> take, absl::Duration timeout) {
  UNDERSTUDY_CHECK(ThisTurn().actor != nullptr, "Ask on a plain thread; use ActorSystem::Ask there");
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
                                                        take);
  if (!sent.ok()) {
    core.system().CountRefused();
    core.Answered(id, std::move(sent), {});
  }
  return {core.self(), id};
}

bool IsAnswered(PendingId pending) { return OwnerOf(pending).IsAnswered(pending.id); }
void AwaitAnswer(PendingId pending, std::coroutine_handle<> waiter) {
  OwnerOf(pending).AwaitAnswer(pending.id, waiter);
}
Answer TakeAnswer(PendingId pending) { return OwnerOf(pending).TakeAnswer(pending.id); }
void CancelPending(PendingId pending) { OwnerOf(pending).CancelAsk(pending.id); }

Pid Resolve(absl::string_view name, SystemCore* system) {
  if (system == nullptr) system = &SystemOfThisThread();
  const absl::optional<NameRecord> record = system->registry().Find(name);
  return record ? record->pid : Pid::Unnamed();
}

ReplierBase::ReplierBase(Activation& activation)
    : system_(&activation.core().system()),
      callee_(activation.core().self()),
      asker_(activation.message.from),
      ask_(activation.message.ask) {
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

CallInHand ReplierBase::Release() {
  UNDERSTUDY_CHECK(system_ != nullptr, "a Replier answers once; this one has answered or was moved from");
  system_ = nullptr;
  return {.asker = asker_, .ask = ask_};
}

void ReplierBase::Abandon() {
  if (system_ == nullptr) return;
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

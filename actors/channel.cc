#include "understudy/actors/channel.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/asks/call_watch.h"
#include "understudy/actors/internal/memory/block_pool.h"
#include "understudy/actors/internal/memory/deferred_destruction.h"
#include "understudy/actors/internal/memory/slow_path.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/internal/send/plain_send.h"
#include "understudy/actors/internal/system/running_systems.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/internal/system/tracing.h"
#include "understudy/actors/internal/system/unowned_names.h"
#include "understudy/actors/internal/turn/actor_asks.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_tracing.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/named.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pending.h"
#include "understudy/actors/pending_group.h"
#include "understudy/actors/replier.h"

namespace understudy::internal {
namespace {

// Returns the system that handles a send from this thread to `to`: in a turn the system of the
// turn's actor, outside turns the system of `to`. Null if there is none. That system finds out
// whether the incarnation of `to` is gone.
SystemCore* SystemForSend(Pid to) {
  if (SystemCore* system = ThisTurn().system; system != nullptr) return system;
  const NodeEntry* entry = NodeTable::At(to.node());
  return entry == nullptr ? nullptr : const_cast<SystemCore*>(static_cast<const SystemCore*>(entry->system));
}

absl::Status NobodyError(Pid to) {
  if (to.is_null()) return NullPidError(to);
  return MakeError(ErrorKind::kNoProcess, absl::StrCat("the actor system of ", to.ToString(), " has ended"));
}

// Returns true if sends of this turn are refused: its actor was fenced while its handler
// runs, or its suspended handlers are being destroyed. This is called in user code, so a fence
// may come right after it, and one send may still get through. Sends by a dead-letter listener
// are not refused, because they are not the actor's.
bool IsRefused() {
  const Worker* const worker = ThisWorker();
  return worker != nullptr && worker->refuses() && !DeadLetterStream::IsTelling();
}

// Sends the call of an ask. If it is refused, the refusal is the answer to `call.ask`.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void SendForAsk(ActorCore& core, const OutboundMessage& call) {
  absl::Status sent = ABSL_PREDICT_TRUE(this_trace == nullptr) ? core.system().SendPrepared(call, TransferMode::kMove)
                                                               : SendTracedCall(core, call);
  if (sent.ok()) return;
  core.system().counts().refused.Add();
  AnswerAsk(core, call.ask, std::move(sent), {});
}

ActorCore& OwnerOf(PendingId pending) {
  ActorCore* core = ActorCore::OfThisTurn(pending.asker);
  UNDERSTUDY_CHECK(core != nullptr, "a Pending of ", pending.asker.ToString(), " is used by another actor or thread");
  return *core;
}

// Takes the answer to `pending`, which is an ask of `core`.
Answer TakeAnswer(ActorCore& core, const PendingId& pending) {
  if (absl::optional<Answer> answer = core.parts().asks().Take(pending.id)) return *std::move(answer);
  return AskTable::AnswerWithoutEntry(pending, core.system().clock().Now());
}

// The two ways to send to an actor of the turn's system. They are separate functions so that each saves only the
// registers that it uses.
ABSL_ATTRIBUTE_NOINLINE bool TryTellBusy(const ChannelBase& channel, const MessageType& type, const void* value,
                                         TransferMode mode, ActorCell& cell) {
  return cell.AcceptPlain(ThisTurn(), channel.pid(), channel.mailbox(), type, value, mode);
}
ABSL_ATTRIBUTE_NOINLINE bool TryTellIdle(const ChannelBase& channel, const MessageType& type, const void* value,
                                         TransferMode mode, ActorCell& cell) {
  return cell.HandSmall(ThisTurn(), channel.pid(), channel.mailbox(), type, value) ||
         TryTellBusy(channel, type, value, mode, cell);
}

inline bool TryTellLocal(const ChannelBase& channel, const MessageType& type, const void* value, TransferMode mode,
                         ActorCell& cell) {
  return cell.IsIdle() && type.small_bytes != 0 ? TryTellIdle(channel, type, value, mode, cell)
                                                : TryTellBusy(channel, type, value, mode, cell);
}

// For systems that look for call cycles: records that a Replier in the message moves to the channel's actor.
UNDERSTUDY_SLOW_PATH bool TryTellWatched(const ChannelBase& channel, const MessageType& type, const void* value,
                                         TransferMode mode, ActorCell& cell) {
  const CallWatch::SendScope goes_to(channel.pid());
  return TryTellLocal(channel, type, value, mode, cell);
}

}  // namespace

bool TryTell(const ChannelBase& channel, const MessageType& type, const void* value, TransferMode mode) {
  SystemCore* const system = ThisTurn().system;
  const Worker* const worker = ThisWorker();
  const Pid to = channel.pid();
  if (ABSL_PREDICT_FALSE(system == nullptr || worker == nullptr ||
                         worker->rights.load(std::memory_order_relaxed) != Rights::kAll || !system->IsLocal(to))) {
    return false;
  }
  ActorCell* const cell = system->CellOf(to);
  if (ABSL_PREDICT_FALSE(cell == nullptr)) return false;
  if (ABSL_PREDICT_FALSE(system->call_watch() != nullptr)) return TryTellWatched(channel, type, value, mode, *cell);
  return TryTellLocal(channel, type, value, mode, *cell);
}

absl::Status SendTell(const ChannelBase& channel, const MessageType& type, const void* value, TransferMode mode) {
  if (IsRefused()) return RefusedError();
  const Pid to = channel.pid();
  SystemCore* const system = SystemForSend(to);
  if (system == nullptr) return NobodyError(to);
  absl::Status sent = system->Send(
      {.from = ThisTurn().self, .to = to, .mailbox = channel.mailbox(), .type = &type, .value = value}, mode);
  if (ABSL_PREDICT_FALSE(!sent.ok())) system->counts().refused.Add();
  return sent;
}

void TellOrBury(const ChannelBase& channel, const MessageType& type, const void* value, TransferMode mode) {
  if (ABSL_PREDICT_TRUE(TryTell(channel, type, value, mode))) return;
  // Copied now, because the channel may be part of the message, and a refusal may destroy a message whose move may
  // throw.
  const Pid to = channel.pid();
  const uint32_t mailbox = channel.mailbox();
  absl::Status sent = SendTell(channel, type, value, mode);
  if (sent.ok()) return;
  SystemCore* system = SystemForSend(to);
  if (system == nullptr) return;
  system->OnDeadLetter({.why = std::move(sent),
                        .from = ThisTurn().self,
                        .to = to,
                        .mailbox = std::string(MailboxNames::Find(mailbox)),
                        .type = type.name()});
}

PendingId SendCall(Pid to, uint32_t mailbox, const MessageType& type, void* value, absl::Duration timeout) {
  UNDERSTUDY_CHECK(ThisTurn().actor() != nullptr, "Ask on a plain thread; use ActorSystem::Ask there");
  const KernelCode kernel;
  if (ABSL_PREDICT_FALSE(kernel.is_refused())) return CancelledAsk();
  ActorCore& core = *ThisTurn().actor();
  const MonotonicTime deadline = DeadlineWithin(core, timeout);
  const PendingId pending = NewAsk(core, to, deadline);
  if (pending.id == 0) return pending;
  if (CallWatch* watch = core.system().call_watch(); watch != nullptr) {
    watch->Asked(core.self(), pending.id, to, std::string(MailboxNames::Find(mailbox)));
  }
  SendForAsk(core, {.from = core.self(),
                    .to = to,
                    .mailbox = mailbox,
                    .ask = pending.id,
                    .deadline = deadline,
                    .type = &type,
                    .value = value});
  return pending;
}

PendingId SendCallWithItems(Pid to, uint32_t mailbox, const MessageType& type, void* value, uint64_t kind,
                            absl::Duration timeout) {
  UNDERSTUDY_CHECK(ThisTurn().actor() != nullptr,
                   "Ask of a stream, or Open, on a plain thread; streams are for actors' turns");
  const KernelCode kernel;
  if (kernel.is_refused()) return CancelledAsk();
  ActorCore& core = *ThisTurn().actor();
  MonotonicTime deadline = core.current() == nullptr ? MonotonicTime::InfiniteFuture() : core.current()->deadline();
  if (!IsStreamAsk(kind)) deadline = DeadlineWithin(core, timeout);
  const PendingId pending =
      NewAskWithItems(core, to, IsStreamAsk(kind) ? MonotonicTime::InfiniteFuture() : deadline, kind);
  if (pending.id == 0) return pending;
  if (CallWatch* watch = core.system().call_watch(); watch != nullptr && !IsStreamAsk(kind)) {
    watch->Asked(core.self(), pending.id, to, std::string(MailboxNames::Find(mailbox)));
  }
  SendForAsk(core, {.from = core.self(),
                    .to = to,
                    .mailbox = mailbox,
                    .ask = pending.id,
                    .deadline = deadline,
                    .type = &type,
                    .value = value});
  return pending;
}

namespace {

// The span of a send by this thread's code, if it belongs to a trace.
absl::optional<SendSpan> SpanOfSend(SystemCore& system, Pid from, uint32_t mailbox) {
  absl::optional<SendSpan> span;
  if (this_trace != nullptr && system.tracing() != nullptr) span.emplace(*system.tracing(), from, mailbox);
  return span;
}
const TracePart* PartOf(const absl::optional<SendSpan>& span) { return span.has_value() ? span->part() : nullptr; }

// SendOrWait to an actor of another node.
SendStep SendOrWaitForNode(const ChannelBase& channel, const MessageType& type, void* value, absl::Duration timeout,
                           PendingId& waits, absl::Status& outcome) {
  const Pid to = channel.pid();
  const KernelCode kernel;
  if (kernel.is_refused()) {
    outcome = RefusedError();
    return SendStep::kDone;
  }
  ActorCore& core = *ThisTurn().actor();
  const absl::StatusOr<Router*> router = core.system().RouterTo(to);
  if (!router.ok()) {
    core.system().counts().refused.Add();
    outcome = router.status();
    return SendStep::kDone;
  }
  waits = NewAsk(core, Pid(), DeadlineWithin(core, timeout));
  if (waits.id == 0) {
    outcome = TakeAnswer(core, waits).status;
    return SendStep::kDone;
  }
  absl::optional<SendSpan> span = SpanOfSend(core.system(), core.self(), channel.mailbox());
  absl::optional<absl::Status> sent = (*router)->SendOrWait({.from = core.self(),
                                                             .to = to,
                                                             .mailbox = channel.mailbox(),
                                                             .type = &type,
                                                             .value = value,
                                                             .trace = PartOf(span)},
                                                            waits.id);
  if (sent.has_value()) {
    if (span.has_value()) span->End(sent->code());
    if (!sent->ok()) core.system().counts().refused.Add();
    AnswerAsk(core, waits.id, *std::move(sent), {});
    outcome = TakeAnswer(core, waits).status;
    return SendStep::kDone;
  }
  core.parts().asks().WaitsForRoom(waits.id, to, AskTable::RoomIn::kOtherNode);
  if (CallWatch* watch = core.system().call_watch(); watch != nullptr) {
    watch->Asked(core.self(), waits.id, to, absl::StrCat("room in ", MailboxNames::Find(channel.mailbox())));
  }
  return SendStep::kWaitsForNode;
}

}  // namespace

SendStep SendOrWait(const ChannelBase& channel, const MessageType& type, void* value, absl::Duration timeout,
                    PendingId& waits, absl::Status& outcome) {
  UNDERSTUDY_CHECK(ThisTurn().actor() != nullptr, "SendWhenRoom on a plain thread; use Send there");
  if (IsRefused()) {
    outcome = RefusedError();
    return SendStep::kDone;
  }
  ActorCore& core = *ThisTurn().actor();
  SystemCore& system = core.system();
  const Pid to = channel.pid();
  if (!to.is_null() && !system.IsLocal(to)) {
    return SendOrWaitForNode(channel, type, value, timeout, waits, outcome);
  }
  ActorCell* cell = to.is_null() ? nullptr : system.CellOf(to);
  if (cell == nullptr) {
    outcome = SendTell(channel, type, value, TransferMode::kMove);
    return SendStep::kDone;
  }
  // If other senders wait for room, this one joins the line behind them.
  CallWatch* const watch = system.call_watch();
  absl::optional<CallWatch::SendScope> mode;
  if (watch != nullptr) mode.emplace(to);
  absl::optional<SendSpan> span = SpanOfSend(system, core.self(), channel.mailbox());
  if (!cell->has_blocked_senders()) {
    outcome = cell->Accept(system,
                           {.from = core.self(),
                            .to = to,
                            .mailbox = channel.mailbox(),
                            .type = &type,
                            .value = value,
                            .trace = PartOf(span)},
                           TransferMode::kMove, WhenFull::kWaits);
    if (!IsFull(outcome)) {
      if (span.has_value()) span->End(outcome.code());
      if (!outcome.ok()) system.counts().refused.Add();
      return SendStep::kDone;
    }
  }
  // These calls may throw, so they run before KernelCode begins.
  const uint64_t bytes = type.bytes(value);
  Envelope* const block = PartOf(span) != nullptr
                              ? Envelope::MakeTraced(type, *PartOf(span))
                              : Envelope::Make(EnvelopeKind::kMessage, type, /*has_call_part=*/true);
  MoveBrittleValue(block, type, value);
  block->call().bytes = bytes;
  const KernelCode kernel;
  waits = kernel.is_refused() ? CancelledAsk() : NewAsk(core, Pid(), DeadlineWithin(core, timeout));
  if (waits.id == 0) {
    outcome = kernel.is_refused() ? RefusedError() : TakeAnswer(core, waits).status;
    ActorCell::TakeBack(/*gates=*/nullptr, type, value, TransferMode::kMove, block);
    return SendStep::kDone;
  }
  core.parts().asks().WaitsForRoom(waits.id, to, AskTable::RoomIn::kThisNode);
  if (watch != nullptr) {
    watch->Asked(core.self(), waits.id, to, absl::StrCat("room in ", MailboxNames::Find(channel.mailbox())));
  }
  system.blocked_senders().Add(
      *cell, {.from = core.self(), .to = to, .ask = waits.id, .mailbox = channel.mailbox(), .payload = Payload(block)});
  if (span.has_value()) span->End(absl::StatusCode::kOk);
  return SendStep::kWaits;
}

absl::Status SendInRoom(const ChannelBase& channel, const MessageType& type, void* value, PendingId waited) {
  const KernelCode kernel;
  SystemCore& system = *ThisTurn().system;
  const absl::StatusOr<Router*> router = system.RouterTo(channel.pid());
  if (!router.ok()) return router.status();
  if (kernel.is_refused()) {
    (*router)->StopWaiting(waited.asker, waited.id);
    return RefusedError();
  }
  absl::optional<SendSpan> span = SpanOfSend(system, waited.asker, channel.mailbox());
  absl::Status sent = (*router)->SendInRoom({.from = waited.asker,
                                             .to = channel.pid(),
                                             .mailbox = channel.mailbox(),
                                             .type = &type,
                                             .value = value,
                                             .trace = PartOf(span)},
                                            waited.id);
  if (span.has_value()) span->End(sent.code());
  if (!sent.ok()) system.counts().refused.Add();
  return sent;
}

PendingId CancelledAsk() { return {.asker = ThisTurn().self}; }

bool IsAnswered(PendingId pending) {
  const KernelCode kernel;
  return kernel.is_fenced() || IsAnswered(OwnerOf(pending), pending.id);
}
void AwaitAnswer(PendingId pending, std::coroutine_handle<> waiter) {
  const KernelCode kernel;
  if (kernel.is_fenced()) return;
  ActorCore& core = OwnerOf(pending);
  core.parts().asks().Await(pending.id, {.handle = waiter, .activation = core.current()});
  TellOfWait(core, pending.id);
}
Answer TakeAnswer(PendingId pending) {
  const KernelCode kernel;
  if (kernel.is_fenced()) return {.status = RefusedError()};
  return TakeAnswer(OwnerOf(pending), pending);
}
void CancelPending(PendingId pending) {
  const KernelCode kernel;
  if (!kernel.is_fenced()) CancelAsk(OwnerOf(pending), pending.id);
}

bool BeginGroup(absl::Span<const PendingId> pendings, GroupWait& wait) {
  const KernelCode kernel;
  if (kernel.is_fenced()) return false;  // the group is never resumed, because its actor has ended
  UNDERSTUDY_CHECK(!std::exchange(wait.has_begun, true), "a group is awaited a second time; await it once, and keep ",
                   "the answers");
  if (wait.is_over()) return true;
  for (const PendingId& pending : pendings) {
    ActorCore& core = OwnerOf(pending);
    if (IsAnswered(core, pending.id)) wait.Count(core.parts().asks().HasGoodAnswer(pending.id));
    if (wait.is_over()) return true;
  }
  return wait.is_over();
}
void AwaitGroup(absl::Span<const PendingId> pendings, GroupWait& wait, std::coroutine_handle<> waiter) {
  const KernelCode kernel;
  if (kernel.is_fenced()) return;
  ActorCore& core = OwnerOf(pendings.front());
  wait.waiter = {.handle = waiter, .activation = core.current()};
  if (!core.parts().asks().Join(pendings, wait)) return;
  for (const PendingId& pending : pendings) {
    if (!IsAnswered(core, pending.id)) TellOfWait(core, pending.id);
  }
}
void StopWaiting(PendingId pending) {
  const KernelCode kernel;
  // Null if this is not the turn of the pending's actor. Then that actor has ended, and its table of asks too.
  ActorCore* core = ActorCore::OfThisTurn(pending.asker);
  if (core != nullptr && !kernel.is_fenced()) core->parts().asks().StopWaiting(pending.id);
}
uint64_t AnsweredAs(PendingId pending) {
  const KernelCode kernel;
  return OwnerOf(pending).parts().asks().AnsweredAs(pending.id);
}
Pid CalleeOf(PendingId pending) {
  const KernelCode kernel;
  return OwnerOf(pending).parts().asks().CalleeOf(pending.id);
}

Pid Resolve(absl::string_view name, SystemCore* system) {
  if (system == nullptr) system = &SystemOfThisThread();
  const Registry::NameLook look = system->registry().Look(name);
  if (look.owner.has_value()) return look.owner->pid;
  const uint32_t tag = UnownedNames::Remember(name);
  return look.is_vacant ? Pid::Vacant(system->node(), tag) : Pid::Unnamed(system->node(), tag);
}

ReplierBase::ReplierBase(Activation& activation)
    : is_open_(true),
      callee_(activation.core().self()),
      asker_(activation.asker()),
      ask_(activation.ask()),
      is_watched_(activation.core().system().call_watch() != nullptr) {
  const KernelCode kernel;
  // A fence has answered the calls of its actor already, so this Replier stays without a right to answer.
  if (kernel.is_fenced()) return;
  activation.GiveAwayAnswer();
  right_ = std::allocate_shared<AnswerRight>(BlockAllocator<AnswerRight>());
  holder_ = callee_;
  activation.core().parts().rights().Add(
      {.right = right_, .hand = right_->hand(), .callee = callee_, .asker = asker_, .ask = ask_});
}

void ReplierBase::Moved() {
  if (is_watched_) TellOfMove();
  const Pid to = TransferScope::IsUnderWay() ? Pid() : ThisTurn().self;
  if (to == holder_ || right_ == nullptr) return;
  const KernelCode kernel;
  holder_ = to;
  const AnswerRight::Hand hand = right_->Pass();
  ActorCore* const holder = ThisTurn().actor();
  if (to.is_null() || holder == nullptr || hand == AnswerRight::kUsed || kernel.is_fenced()) return;
  holder->parts().rights().Add({.right = right_, .hand = hand, .callee = callee_, .asker = asker_, .ask = ask_});
}

void ReplierBase::TellOfMove() const {
  SystemCore* const system = SystemCore::OfLife(callee_.life());
  if (system == nullptr) return;
  const Pid* to = CallWatch::SendScope::Current();
  system->call_watch()->Moved(asker_, ask_, to == nullptr ? ThisTurn().self : *to);
}

void ReplierBase::Post(absl::Status status, Payload payload) {
  UNDERSTUDY_CHECK(std::exchange(is_open_, false), "a Replier answers once; this one has answered or was moved from");
  const KernelCode kernel;
  SystemCore* const system = SystemCore::OfLife(callee_.life());
  if (system == nullptr) return;                    // the callee's system has ended
  if (right_ == nullptr || !right_->Use()) return;  // the fence of the holder has answered
  if (kernel.is_fenced()) {
    // This turn's actor got the Replier after it was fenced, and a fenced actor may send nothing.
    status = CalleeExitedError(ThisTurn().self.ToString(), *ThisTurn().actor()->ending());
    payload = Payload();
  }
  system->Post({.kind = SignalKind::kReply,
                .from = callee_,
                .to = asker_,
                .id = ask_,
                .status = std::move(status),
                .payload = std::move(payload)});
}

CallInHand ReplierBase::Release() {
  UNDERSTUDY_CHECK(std::exchange(is_open_, false), "a Replier answers once; this one has answered or was moved from");
  if (right_ != nullptr) (void)right_->Use();  // the right to answer goes back to the call
  return {.asker = asker_, .ask = ask_};
}

void ReplierBase::Abandon() {
  if (!is_open_) return;
  const KernelCode kernel;
  ActorCore* holder = ThisTurn().actor();
  if (holder != nullptr && holder->ending() != nullptr) {
    Post(CalleeExitedError(holder->self().ToString(), *holder->ending()), {});
  } else if (holder != nullptr && holder->self() == callee_ && holder->current() != nullptr &&
             holder->current()->TakeBackAnswer(asker_, ask_)) {
    is_open_ = false;  // the call is answered at the end of the handler, which may have failed
    (void)right_->Use();
  } else if (const DeferredDestruction* destruction = DeferredDestruction::Running();
             holder == nullptr && destruction != nullptr) {
    Post(CalleeExitedError(destruction->whose().ToString(), destruction->reason()), {});
  } else {
    Post(UnansweredError(callee_), {});
  }
}

}  // namespace understudy::internal

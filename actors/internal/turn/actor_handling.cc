// Runs handlers, and records the dispositions of the messages that they handled.
#include "understudy/actors/internal/turn/actor_handling.h"

#include <bit>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/asks/call_watch.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_disposal.h"
#include "understudy/actors/internal/turn/actor_due.h"
#include "understudy/actors/internal/turn/actor_queues.h"
#include "understudy/actors/internal/turn/actor_receive.h"
#include "understudy/actors/internal/turn/actor_tracing.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/internal/turn/in_user_code.h"

namespace understudy::internal {

absl::Status UnansweredError(Pid callee) {
  return MakeError(ErrorKind::kUnanswered, absl::StrCat("a Replier of ", callee.ToString(), " was destroyed unused"));
}

namespace {

// While it lives, a handler that may await runs, from its begin or its resumption on.
class TimedRun {
 public:
  TimedRun(ActorCore& core, Activation& activation) : system_(core.system()), worker_(*ThisWorker()) {
    if (worker_.timer.IsDue()) BeginTiming(core, worker_, activation);
  }
  ~TimedRun() {
    if (worker_.timer.is_timing()) EndTiming(system_, worker_);
  }
  TimedRun(const TimedRun&) = delete;
  TimedRun& operator=(const TimedRun&) = delete;

 private:
  SystemCore& system_;
  Worker& worker_;
};

// The behaviour may have changed while its handler awaited.
void SettlePostponed(ActorCore& core, Activation& activation) {
  UNDERSTUDY_CHECK(!activation.is_call() || !activation.answer_given(),
                   "Postpone of a call that has been answered, or whose Replier is elsewhere");
  const Activation::Held* const held = activation.held();
  if (held != nullptr && held->is_cancelled) {
    Count(core, static_cast<size_t>(activation.mailbox), DispositionOfCancelled(core, activation.deadline()));
    return;
  }
  if (CallWatch* watch = core.system().call_watch(); ABSL_PREDICT_FALSE(watch != nullptr)) {
    watch->WaitsAgain(activation.asker(), activation.ask());
  }
  PutBack(core, std::exchange(activation.envelope, nullptr),
          held == nullptr || held->postponed_in == core.parts().behaviors().epoch());
}

}  // namespace

void BeginTiming(ActorCore& core, Worker& worker, Activation& activation) {
  const Actor& object = *core.object();
  const bool is_message = activation.source() == Activation::Source::kMessage;
  const MonotonicTime now = core.system().clock().Now();
  const auto nanos = static_cast<uint64_t>(now.nanos());
  // Once a handler has awaited, the newest message of the ring may be another handler's.
  if (is_message && activation.held() == nullptr) {
    worker.ring.StampNewest(nanos);
  } else {
    worker.ring.NoteTime(nanos);
  }
  worker.timer.Begin(now, {.actor_class = &typeid(object),
                           .mailbox = is_message ? &core.layout()[static_cast<size_t>(activation.mailbox)] : nullptr});
}

// The actor may be fenced, so only what was noted at the begin is used.
void EndTiming(SystemCore& system, Worker& worker) {
  const auto [kind, time] = worker.timer.End(system.clock().Now());
  if (worker.timer.is_sample()) system.handler_sketches().Add(&worker, kind, time);
}

void SettleUnusual(ActorCore& core, Activation& activation) {
  if (activation.is_forwarded) return;
  if (activation.is_postponed && !activation.has_failed) {
    SettlePostponed(core, activation);
    return;
  }
  const bool is_unanswered = activation.is_call() && !activation.answer_given();
  const auto place = static_cast<size_t>(activation.mailbox);
  if (!activation.has_failed && !is_unanswered && activation.status().ok()) {
    AddAsOwner(core.cell().queue(place).handled, 1U);
    return;
  }
  Count(core, place, activation.has_failed ? Disposition::kFailed : Disposition::kRejected);
  if (!is_unanswered) return;
  if (activation.has_failed) {
    activation.AnswerFinally(CalleeExitedError(core.self().ToString(), ReasonOf(core)));
  } else {
    activation.AnswerFinally(activation.status().ok() ? UnansweredError(core.self()) : activation.status());
  }
}

void ActorCore::HandleTaken(Envelope* envelope, BehaviorTable& table, size_t clause) {
  if (envelope->has(Envelope::kHasCallPart)) {
    absl::Status expired;
    if (HasExpired(*this, *envelope, expired)) {
      Dispose(*this, envelope, Disposition::kExpired, expired);
      return;
    }
  }
  if (table.has_idle()) parts_.timers().NoteMessage(system().clock().Now());
  MessageHandler& handler = table.handler(clause);
  const MessageHandler::Form form = handler.form();
  if (ABSL_PREDICT_FALSE(form == MessageHandler::Form::kRefuses || form == MessageHandler::Form::kDrops)) {
    const bool refuses = form == MessageHandler::Form::kRefuses;
    Dispose(*this, envelope, refuses ? Disposition::kRejected : Disposition::kDropped,
            refuses ? handler.refusal() : absl::OkStatus());
    return;
  }
  Worker& worker = *ThisWorker();
  NoteCall(worker, *envelope);
  if (form == MessageHandler::Form::kAwaits) {
    auto activation = std::make_unique<Activation>(*this, envelope);
    activation->TakeCallPart();
    activation->is_interleaved = table.is_interleaved(clause);
    activation->Hold().behavior = behavior_;
    if (IsReceiving(*this)) BeginRound(*this, *activation);
    if (activation->is_interleaved && activation->is_call()) {
      // The watch for call cycles must know: an actor answers an interleaved call even while it awaits other answers.
      CallWatch* watch = system().call_watch();
      if (watch != nullptr) watch->IsInHand(activation->asker(), activation->ask());
    }
    if (ABSL_PREDICT_FALSE(envelope->has(Envelope::kIsTraced))) (void)BeginHandling(*this, *activation);
    // The message has no disposition yet: ledgers count it as in hand while its handler awaits.
    RunAwaiting(std::move(activation), handler);
    return;
  }
  Activation activation(*this, envelope);
  activation.TakeCallPart();
  if (IsReceiving(*this)) BeginRound(*this, activation);
  if (ABSL_PREDICT_FALSE(envelope->has(Envelope::kIsTraced)) && BeginHandling(*this, activation))
    EnterTrace(activation);
  RunHandler(ThisTurn(), worker, &cell().queue(envelope->mailbox), activation, handler);
}

// `handler` is taken by value so that it stays alive while it runs. NOLINTNEXTLINE(performance-unnecessary-value-param)
void ActorCore::RunEvent(Event event, std::shared_ptr<MessageHandler> handler, bool ends_receive) {
  if (event.kind == Event::Kind::kTimer && event.id != 0) parts_.timers().Taken(event);
  if (handler == nullptr) {
    UNDERSTUDY_CHECK(event.kind == Event::Kind::kParentExit || event.kind == Event::Kind::kStopRequest, "a ",
                     event.payload.type()->name(), " of ", self().ToString(),
                     " has no handler; only the process style goes without, and takes it by Receive(On<Event>(…))");
    SetExit(std::move(event.reason), ExitCause::kTold);
    return;
  }
  if (handler->awaits()) {
    auto activation = std::make_unique<Activation>(*this, Activation::Source::kEvent);
    activation->envelope = event.payload.Release();
    activation->Hold() = {.behavior = behavior_, .handler = handler};
    if (ends_receive) BeginRound(*this, *activation);
    RunAwaiting(std::move(activation), *handler);
    return;
  }
  Activation activation(*this, Activation::Source::kEvent);
  activation.envelope = event.payload.Release();
  if (ends_receive) BeginRound(*this, activation);
  RunHandler(ThisTurn(), *ThisWorker(), /*queue=*/nullptr, activation, *handler);
}

void ActorCore::RunAwaiting(std::unique_ptr<Activation> activation, MessageHandler& handler) {
  if (ABSL_PREDICT_FALSE(system().observation().sees_steps())) Trace(*this, "handles", *activation);
  Activation& running = *activation;
  running.Hold();
  if (running.source() == Activation::Source::kMessage) CountInHand(*this, running);
  parts_.activations().Add(std::move(activation));
  SetCurrent(&running);
  if (ABSL_PREDICT_FALSE(running.held()->trace != nullptr)) EnterTrace(running);
  std::exception_ptr thrown;
  {
    const TimedRun timed(*this, running);
    InUserCode([&] {
      thrown = Caught([&] { handler.Run(*actor_, running); });
      if (thrown == nullptr) Relay::Run(running.held()->root.handle());
    });
  }
  if (ABSL_PREDICT_FALSE(this_trace != nullptr)) LeaveTrace();
  if (thrown != nullptr && !stage_.is_fenced()) {
    running.has_failed = true;
    running.is_complete = true;
    SetExit(DescribeException(thrown), ExitCause::kOwn);
  }
  AfterStep(running);
}

void ActorCore::Resume(Waiter waiter) {
  if (ABSL_PREDICT_FALSE(system().observation().sees_steps())) Trace(*this, "resumes", *waiter.activation);
  SetCurrent(waiter.activation);
  if (ABSL_PREDICT_FALSE(waiter.activation->held()->trace != nullptr)) EnterTrace(*waiter.activation);
  {
    const TimedRun timed(*this, *waiter.activation);
    InUserCode([&] { Relay::Run(waiter.handle); });
  }
  if (ABSL_PREDICT_FALSE(this_trace != nullptr)) LeaveTrace();
  AfterStep(*waiter.activation);
}

// Called when the handler's coroutine has ended or awaits. If the actor was fenced meanwhile, the fence has settled the
// message, and FinishFenced destroys the activation.
void ActorCore::AfterStep(Activation& activation) {
  if (stage_.is_fenced()) return;
  if (!activation.is_complete) {
    SetCurrent(nullptr);
    ApplyBecome();
    return;
  }
  if (activation.held()->exception != nullptr) {
    activation.has_failed = true;
    SetExit(DescribeException(activation.held()->exception), ExitCause::kOwn);
  }
  const std::unique_ptr<Activation> finished = parts_.activations().Take(activation);
  // The frame first: a Replier that it forgot gives the right to answer back.
  SetCurrent(finished.get());
  InUserCode([&] {
    finished->held()->root = RootTask();
    finished->DropMessage();
  });
  SetCurrent(nullptr);
  if (stage_.is_fenced()) return;
  CountOutOfHand(*this, *finished);
  const bool is_of_message = finished->source() == Activation::Source::kMessage;
  Settle(is_of_message ? &cell().queue(static_cast<size_t>(finished->mailbox)) : nullptr, *finished);
}

void Activation::FinishTell(BehaviorPtr become) {
  KernelCode kernel;
  if (!kernel.is_fenced()) core_.Become(std::move(become));
}

Envelope* Activation::ReplyBlock(const MessageType& type) {
  if (held_ == nullptr) {
    // The handler has returned.
    Envelope* own = std::exchange(envelope, nullptr);
    own->DropValue();
    if (own->Retype(type)) return own;
    Envelope::Delete(own);
  }
  Envelope* made = Envelope::Make(EnvelopeKind::kReply, type, /*has_call_part=*/true);
  made->call().ask = ask();
  return made;
}

void Activation::SendReply(Envelope* block) {
  const KernelCode kernel;
  if (kernel.is_fenced()) {  // the fence has answered
    DestroyLater(block);
    return;
  }
  answer_given_ = true;
  SystemCore& system = core_.system();
  const Pid asker = this->asker();
  ActorCell* to = system.CellOf(asker);
  if (to == nullptr) {
    const uint64_t ask = block->ask();
    system.Reply(core_.self(), asker, ask, Payload(block));
    return;
  }
  if (CallWatch* watch = system.call_watch(); ABSL_PREDICT_FALSE(watch != nullptr)) watch->Forget(asker, block->ask());
  block->kind = EnvelopeKind::kReply;
  block->flags =
      static_cast<uint8_t>(block->flags & (Envelope::kHasCallPart | Envelope::kIsBoxed | Envelope::kHasValue));
  block->set_sender(core_.self());
  if (to->Post(system, asker.life(), block) != Pushed::kClosed) return;
  system.counts().late_replies.Add();
  DestroyLater(block);
}

void Activation::AnswerStatus(const absl::Status& status) {
  if (has_failed || is_postponed) return;
  status_ = status;
  AnswerFinally(status);
}

void Activation::AnswerFinally(const absl::Status& status) {
  const KernelCode kernel;
  if (kernel.is_fenced()) return;  // the fence has answered
  answer_given_ = true;
  core_.system().Reply(core_.self(), asker(), ask(), status);
}

}  // namespace understudy::internal

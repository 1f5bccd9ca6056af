#include "understudy/actors/internal/turn/actor_core.h"

#include <memory>
#include <new>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "understudy/actors/check.h"
#include "understudy/actors/internal/send/waiting_mark.h"
#include "understudy/actors/internal/turn/actor_asks.h"
#include "understudy/actors/internal/turn/actor_choice.h"
#include "understudy/actors/internal/turn/actor_disposal.h"
#include "understudy/actors/internal/turn/actor_due.h"
#include "understudy/actors/internal/turn/actor_handling.h"
#include "understudy/actors/internal/turn/actor_queues.h"
#include "understudy/actors/internal/turn/actor_signals.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/internal/turn/in_user_code.h"
#include "understudy/actors/internal/turn/name_news.h"
#include "understudy/actors/internal/turn/turn_scope.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {
namespace {

// Acts on an envelope that is not a message. Not inline, so that the turn of messages keeps its registers.
ABSL_ATTRIBUTE_NOINLINE void ActOn(ActorCore& core, Envelope* envelope) {
  switch (envelope->kind) {
    case EnvelopeKind::kMessage:
    case EnvelopeKind::kWake:
    case EnvelopeKind::kBox:         // in no inbox
    case EnvelopeKind::kDeadLetter:  // likewise
      break;
    case EnvelopeKind::kReply: {
      const uint64_t ask = envelope->ask();
      if (!AnswerAsk(core, ask, absl::OkStatus(), Payload(envelope))) core.system().counts().late_replies.Add();
      return;
    }
    case EnvelopeKind::kSignal:
      Act(core, std::move(*static_cast<Signal*>(envelope->value())));
      break;
    case EnvelopeKind::kTick:
      FireTimers(core);
      break;
    case EnvelopeKind::kOverdue:
      if (core.IsStarting()) {
        core.SetExit(ExitReason::StartTimeout(), ExitCause::kTold);
      } else {
        (*static_cast<HasStarted*>(envelope->value()))->store(true, std::memory_order_relaxed);
      }
      break;
    case EnvelopeKind::kSuspend:
      Suspend(core, static_cast<Suspension*>(envelope->value())->end);
      break;
    case EnvelopeKind::kTrace:
      core.SetTraced(core.system().message_traces().Find(core.life()) != nullptr);
      break;
    case EnvelopeKind::kOverflow:
      core.SetExit(ExitReason::Overflow(core.layout()[envelope->mailbox].wire_name), ExitCause::kOwnOutside);
      break;
    case EnvelopeKind::kLookForExpired:
      core.cell().ForgetExpiry();  // first: a sender that finds one full from now on asks again
      ExpireWaitingMessages(core);
      break;
    case EnvelopeKind::kOutcome:
      OnOutcome(core, std::move(*static_cast<SpawnReport*>(envelope->value())));
      break;
    case EnvelopeKind::kNameChange: {
      const auto& news = *static_cast<std::shared_ptr<NameNews>*>(envelope->value());
      const NameNews::Arrived arrived = news->Take();
      if (arrived.follows) {
        PostOrDrop(core.cell(), core.system(), core.life(),
                   MakeEnvelope(EnvelopeKind::kNameChange, std::shared_ptr<NameNews>(news)));
      }
      absl::optional<std::shared_ptr<MessageHandler>> handler =
          core.parts().watches().HandlerOfName(news->name, news->watch);
      if (!handler.has_value()) break;
      AddEvent(core, {.kind = Event::Kind::kName,
                      .id = news->watch,
                      .payload = Payload::Of(NameChange{.name = news->name, .pid = arrived.owner}),
                      .handler = *std::move(handler)});
      break;
    }
  }
  Envelope::Delete(envelope);  // nothing of users is left in it
}

// Sorts a message that did not wake the actor: its stamp is when it came. `next` came after it.
ABSL_ATTRIBUTE_NOINLINE void SortMarked(ActorCore& core, CurrentTurn& turn, Envelope* envelope, const Envelope* next) {
  const MonotonicTime now = turn.system->executor().CoarseNow();
  core.NoteTime(WaitingMark::TakeOff(*envelope, now));
  Enqueue(core, turn, envelope);
  if (next == nullptr || !WaitingMark::IsOn(*next)) core.NoteTime(now);
}

// Sorts the messages and signals that have arrived since the last call.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void DrainInbound(ActorCore& core, CurrentTurn& turn) {
  Envelope* envelope = core.cell().TakeInbound();
  const uint64_t own_life = turn.self.life();
  if (envelope != nullptr && !WaitingMark::IsOn(*envelope)) core.NoteTime(turn.system->executor().CoarseNow());
  while (envelope != nullptr) {
    Envelope* const next = envelope->next;
    if (ABSL_PREDICT_FALSE(envelope->life != own_life)) {
      DisposeOfStale(core, envelope);
    } else if (ABSL_PREDICT_FALSE(core.stage().has_exit())) {
      // The message arrived after the signal that ends the actor: Bury disposes of it, as of the waiting messages.
      envelope->next = nullptr;
      core.parts().unsorted().push_back(envelope);
    } else if (ABSL_PREDICT_FALSE(WaitingMark::IsOn(*envelope))) {
      SortMarked(core, turn, envelope, next);
    } else if (ABSL_PREDICT_TRUE(envelope->kind == EnvelopeKind::kMessage)) {
      envelope->has(Envelope::kIsEarly) ? AdmitEarly(core, envelope) : Enqueue(core, turn, envelope);
    } else {
      ActOn(core, envelope);
    }
    envelope = next;
  }
  if (ABSL_PREDICT_FALSE(turn.cancels != nullptr)) CancelCalls(core);
}

// Publishes the mailboxes' limits, admits blocked senders, and arms the executor's timer: all that must be done before
// the actor may run on another thread. Returns false if Sweep must run first.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool PublishRoom(ActorCore& core, CurrentTurn& turn) {
  if (turn.unpublished != 0) PublishLimits(core, turn);
  if (ABSL_PREDICT_FALSE(core.cell().has_blocked_senders())) {
    turn.system->blocked_senders().Admit(core.cell(), core.life());
    if (core.stage().has_deferred()) return false;
    if (core.cell().has_blocked_senders()) WatchExpiry(core);
  }
  if (ABSL_PREDICT_FALSE(!core.parts().empty())) ArmExecutor(core);
  return true;
}

// A shortcut for a turn that had only a direct hand-off to handle: makes the actor idle. Returns false if there is more
// to do, or something has arrived.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool TryRest(ActorCore& core, const CurrentTurn& turn) {
  if (!core.stage().is_plain() || !core.parts().empty() || turn.unpublished != 0 || core.cell().has_blocked_senders())
    return false;
  const uint64_t open = core.behavior()->mailboxes();
  return (core.mail().mailboxes() & open) == 0 && core.cell().TryIdle(open);
}

}  // namespace

ActorCore::ActorCore(const ParentTie& parent) : parts_(parent) {}

ActorCore::~ActorCore() = default;

Pid ActorCore::Spawn(SystemCore& system, Pid parent, SpawnOptions&& options, MakeActor&& make,
                     SpawnNotifications notifications, absl::optional<ExitReason> has_failed) {
  ActorCell* cell = system.cells().Allocate();
  const Pid self = system.NewPid(*cell);
  auto* core = new (cell->owner_memory()) ActorCore(ParentTie(parent, options.link, notifications));
  if (system.population().has_run_out.load(std::memory_order_relaxed)) has_failed = ExitReason::Shutdown();
  if (options.thread == SpawnThread::kOwn) {
    absl::StatusOr<uint32_t> thread = system.executor().NewOwnThread();
    if (thread.ok()) {
      core->set_own_thread(*thread);
    } else {
      has_failed = ExitReason::Failed(thread.status());
    }
  }
  core->spawn_arguments_ =
      new SpawnArguments{std::move(make), SpawnRecord(std::move(options), notifications.id), std::move(has_failed)};
  system.population().live.fetch_add(1, std::memory_order_relaxed);
  cell->Open(self.life());
  system.executor().Schedule(core);
  return self;
}

ActorCore& ActorCore::OfThisTurn() {
  ActorCore* core = ThisTurn().actor();
  UNDERSTUDY_CHECK(core != nullptr, "this is for an actor's turn; a plain thread uses ActorSystem");
  return *core;
}

ActorCore* ActorCore::OfThisTurn(Pid pid) { return ThisTurn().self == pid ? ThisTurn().actor() : nullptr; }

// Takes the next step of the turn if it is not simply to handle the oldest message (HandlesOldest). Returns false if
// there is nothing to do.
bool ActorCore::HandleNext() {
  if (ABSL_PREDICT_FALSE(stage_.has_deferred())) {
    Sweep();
    return true;
  }
  if (parts_.empty() || !parts_.activations().HasResumable()) return HandleOne(*this);
  Resume(parts_.activations().TakeResumable());
  return true;
}

// Destroys the user objects that kernel code has let go of. The actor may be fenced meanwhile, as their destructors are
// user code.
ABSL_ATTRIBUTE_NOINLINE void ActorCore::Sweep() {
  CurrentTurn& turn = ThisTurn();
  while (!turn.remains.empty()) {
    DestructionQueue remains;
    remains.TakeFrom(turn.remains);
    stage_.SetDeferred(false);
    InUserCode([&] { remains.End(*turn.system); });
  }
}

// Runs the actor until it is idle or has been scheduled again, and then returns true. From the Schedule or the
// successful TryIdle on, another thread may already run the actor's next turn, so nothing after them touches this
// object. Returns false if the actor's life is to end.
ABSL_ATTRIBUTE_NOINLINE bool ActorCore::TakeTurn(CurrentTurn& turn, int budget) {
  for (bool drains = true;;) {
    if (drains || stage_.drains_soon() || budget % kDrainEvery == 0) {
      drains = false;
      stage_.SetDrainsSoon(false);
      DrainInbound(*this, turn);
      if (ABSL_PREDICT_FALSE(stage_.has_exit())) return false;
    }
    if (budget <= 0 && !stage_.has_deferred() && PublishRoom(*this, turn)) {
      turn.system->executor().Schedule(this);
      return true;
    }
    const bool is_simple = HandlesOldest(*this);
    uint64_t open = 0;
    if (ABSL_PREDICT_TRUE(is_simple)) {
      open = behavior_->mailboxes() & ~parts_.closed_mask();
      if (const uint64_t waiting = mail_.mailboxes() & open; waiting != 0) {
        --budget;
        HandleOldest(turn, waiting);
        if (ABSL_PREDICT_FALSE(stage_.has_exit())) return false;
        continue;
      }
    } else {
      const bool has_handled = HandleNext();
      if (stage_.has_exit()) return false;
      if (has_handled) {
        --budget;
        // With ranks, a message that has just arrived may be next, so drain before each choice.
        const BehaviorTable* const next = Effective(*this);
        drains = next != nullptr && next->has_ranks();
        continue;
      }
    }
    if (cell().HasInbound()) {
      drains = true;
      --budget;  // sorting or dropping what arrives is work too, and must not prolong the turn without bound
      continue;
    }
    if (!is_simple) {
      open = OpenMask(*this);  // a guard may throw, or not return
      if (stage_.has_exit()) return false;
      if (stage_.has_deferred()) continue;
    }
    if (PublishRoom(*this, turn) && cell().TryIdle(open)) return true;
    drains = true;
    --budget;
  }
}

void ActorCore::Run() {
  TurnScope scope(SystemCore::OfLife(life()), cell());
  CurrentTurn& turn = scope.turn();
  bool goes_on = true;
  int budget = limits::kMessagesPerTurnMax;
  if (in_hand_.has_message()) {
    HandleHanded(turn, in_hand_.message());
    if (ABSL_PREDICT_TRUE(TryRest(*this, turn))) return;
    --budget;
    goes_on = !stage_.has_exit();
  } else if (ABSL_PREDICT_FALSE(stage_.start().is_constructing())) {
    goes_on = Construct();
  }
  goes_on = goes_on && TakeTurn(turn, budget);
  if (ABSL_PREDICT_FALSE(!goes_on)) stage_.is_fenced() ? FinishFenced() : End();
}

}  // namespace understudy::internal

#include "understudy/actors/internal/turn/actor_core.h"

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/turn/actor_asks.h"
#include "understudy/actors/internal/turn/actor_disposal.h"
#include "understudy/actors/internal/turn/actor_handling.h"
#include "understudy/actors/internal/turn/actor_queues.h"
#include "understudy/actors/internal/turn/actor_signals.h"
#include "understudy/actors/internal/turn/turn_scope.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

ActorCore::ActorCore(const ParentTie& parent) : parent_(parent) {}

ActorCore::~ActorCore() = default;

Pid ActorCore::Spawn(SystemCore& system, Pid parent, SpawnOptions&& options, MakeActor&& make,
                     SpawnNotifications notifications, absl::optional<ExitReason> has_failed) {
  ActorCell* cell = system.cells().Allocate();
  const Pid self = system.NewPid(*cell);
  auto* core = new (cell->owner_memory()) ActorCore(ParentTie(parent, options.link, notifications));
  if (system.has_run_out.load(std::memory_order_relaxed)) has_failed = ExitReason::Shutdown();
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
  system.live_actors.fetch_add(1, std::memory_order_relaxed);
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

Rare& ActorCore::rare() {
  if (rare_ == nullptr) rare_ = std::make_unique<Rare>();
  return *rare_;
}

LinkTable& ActorCore::links() {
  if (parent_.TakeLink()) rare().links.OnLink(parent());
  return rare().links;
}

Exits& ActorCore::exits() {
  std::unique_ptr<Exits>& exits = rare().exits;
  if (exits == nullptr) exits = std::make_unique<Exits>();
  return *exits;
}

const Exits& ActorCore::known_exits() const {
  static const Exits* const none = new Exits;
  return rare_ == nullptr || rare_->exits == nullptr ? *none : *rare_->exits;
}

Watches& ActorCore::watches() {
  std::unique_ptr<Watches>& watches = rare().watches;
  if (watches == nullptr) watches = std::make_unique<Watches>();
  return *watches;
}

ActorTimers& ActorCore::timers() {
  std::unique_ptr<ActorTimers>& timers = rare().timers;
  if (timers == nullptr) timers = std::make_unique<ActorTimers>();
  return *timers;
}

LedgerBook::Page& ActorCore::ledger() {
  Rare& rare = this->rare();
  if (rare.ledger == nullptr) rare.ledger = system().ledgers().OpenPage(self(), layout().size());
  return *rare.ledger;
}

AskTable& ActorCore::MakeAsks() {
  rare().asks = std::make_unique<AskTable>();
  return *rare_->asks;
}

Random& ActorCore::random() {
  absl::optional<Random>& random = rare().random;
  if (!random) random.emplace(system().SeedFor(self().serial()));
  return *random;
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void ActorCore::DrainInbound(CurrentTurn& turn) {
  Envelope* envelope = cell().TakeInbound();
  const uint64_t own_life = turn.self.life();
  while (envelope != nullptr) {
    Envelope* const next = envelope->next;
    if (ABSL_PREDICT_FALSE(envelope->life != own_life)) {
      DisposeOfStale(*this, envelope);
    } else if (ABSL_PREDICT_FALSE(has_exit())) {
      // The message arrived after the signal that ends the actor: Bury disposes of it, as of the waiting messages.
      envelope->next = nullptr;
      rare().unsorted.push_back(envelope);
    } else if (ABSL_PREDICT_TRUE(envelope->kind == EnvelopeKind::kMessage)) {
      envelope->has(Envelope::kIsEarly) ? AdmitEarly(envelope) : Enqueue(turn, envelope);
    } else {
      ActOn(envelope);
    }
    envelope = next;
  }
  if (ABSL_PREDICT_FALSE(rare_ != nullptr && !rare_->early_cancels.empty())) {
    for (const auto& [asker, ask] : std::exchange(rare_->early_cancels, {})) (void)CancelWaiting(asker, ask);
  }
}

// Does what is next if that is not simply to handle the oldest message (HandlesOldest). Returns false if there is
// nothing to do.
bool ActorCore::HandleNext() {
  if (ABSL_PREDICT_FALSE(has_deferred())) {
    Sweep();
    return true;
  }
  if (rare_ == nullptr || !rare_->activations.HasResumable()) return HandleOne();
  Resume(rare_->activations.TakeResumable());
  return true;
}

// Destroys the user objects that kernel code has let go of. The actor may be fenced meanwhile, as their destructors are
// user code.
ABSL_ATTRIBUTE_NOINLINE void ActorCore::Sweep() {
  CurrentTurn& turn = ThisTurn();
  while (!turn.remains.empty()) {
    DestructionQueue remains;
    remains.TakeFrom(turn.remains);
    Set(kHasDeferred, false);
    InUserCode([&] { remains.End(*turn.system); });
  }
}

// Publishes the mailboxes' limits, admits blocked senders, and arms the executor's timer: all that must be done before
// the actor may run on another thread. Returns false if Sweep must run first.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool ActorCore::PublishRoom(CurrentTurn& turn) {
  if (turn.unpublished != 0) PublishLimits(turn);
  if (ABSL_PREDICT_FALSE(cell().has_blocked_senders())) {
    turn.system->blocked_senders().Admit(cell(), life());
    if (has_deferred()) return false;
    if (cell().has_blocked_senders()) WatchExpiry();
  }
  if (ABSL_PREDICT_FALSE(rare_ != nullptr)) ArmExecutor();
  return true;
}

// Runs the actor until it is idle or has been scheduled again, and then returns true. From the Schedule or the
// successful TryIdle on, another thread may already run the actor's next turn, so nothing after them touches this
// object. Returns false if the actor's life is to end.
ABSL_ATTRIBUTE_NOINLINE bool ActorCore::TakeTurn(CurrentTurn& turn, int budget) {
  for (bool drains = true;;) {
    if (drains || (obstacles_ & kDrainsSoon) != 0 || budget % kDrainEvery == 0) {
      drains = false;
      Set(kDrainsSoon, false);
      DrainInbound(turn);
      if (ABSL_PREDICT_FALSE(has_exit())) return false;
    }
    if (budget <= 0 && !has_deferred() && PublishRoom(turn)) {
      turn.system->executor().Schedule(this);
      return true;
    }
    const bool is_simple = HandlesOldest();
    uint64_t open = 0;
    if (ABSL_PREDICT_TRUE(is_simple)) {
      open = behavior_->mailboxes() & ~closed_mask();
      if (const uint64_t waiting = has_mail_ & open; waiting != 0) {
        --budget;
        HandleOldest(turn, waiting);
        if (ABSL_PREDICT_FALSE(ends())) return false;
        continue;
      }
    } else {
      const bool has_handled = HandleNext();
      if (ends()) return false;
      if (has_handled) {
        --budget;
        // With ranks, a message that has just arrived may be next, so drain before each choice.
        const BehaviorTable* const next = Effective();
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
      open = OpenMask();  // a guard may throw, or not return
      if (ends()) return false;
      if (has_deferred()) continue;
    }
    if (PublishRoom(turn) && cell().TryIdle(open)) return true;
    drains = true;
    --budget;
  }
}

// A shortcut for a turn that had only a direct hand-off to handle: makes the actor idle. Returns false if there is more
// to do, or something has arrived.
inline bool ActorCore::TryRest(const CurrentTurn& turn) {
  if (obstacles_ != 0 || rare_ != nullptr || turn.unpublished != 0 || cell().has_blocked_senders()) return false;
  const uint64_t open = behavior_->mailboxes();
  return (has_mail_ & open) == 0 && cell().TryIdle(open);
}

void ActorCore::Run() {
  TurnScope scope(SystemCore::OfLife(life()), cell());
  CurrentTurn& turn = scope.turn();
  bool goes_on = true;
  int budget = limits::kMessagesPerTurnMax;
  if (in_hand_ != nullptr) {
    HandleHanded(turn, static_cast<Envelope*>(in_hand_));
    if (ABSL_PREDICT_TRUE(TryRest(turn))) return;
    --budget;
    goes_on = !ends();
  } else if (ABSL_PREDICT_FALSE(start_.is_constructing())) {
    goes_on = Construct();
  }
  goes_on = goes_on && TakeTurn(turn, budget);
  if (ABSL_PREDICT_FALSE(!goes_on)) is_fenced() ? FinishFenced() : End();
}

// Acts on an envelope that is not a message.
void ActorCore::ActOn(Envelope* envelope) {
  switch (envelope->kind) {
    case EnvelopeKind::kMessage:
    case EnvelopeKind::kWake:
      break;
    case EnvelopeKind::kReply: {
      const uint64_t ask = envelope->ask();
      if (!AnswerAsk(*this, ask, absl::OkStatus(), Payload(envelope))) system().CountLateReply();
      return;
    }
    case EnvelopeKind::kSignal:
      Act(*this, std::move(*static_cast<Signal*>(envelope->value())));
      break;
    case EnvelopeKind::kTick:
      FireTimers();
      break;
    case EnvelopeKind::kOverdue:
      if (IsStarting()) {
        SetExit(ExitReason::StartTimeout(), ExitCause::kTold);
      } else {
        (*static_cast<HasStarted*>(envelope->value()))->store(true, std::memory_order_relaxed);
      }
      break;
    case EnvelopeKind::kOverflow:
      if (const MailboxDeclaration& full = layout()[envelope->mailbox]; full.options.overflow == Overflow::kFailActor) {
        SetExit(ExitReason::Overflow(full.wire_name), ExitCause::kOwnOutside);
      } else {
        cell().ForgetExpiry();  // first: a sender that finds one full from now on asks again
        ExpireWaitingMessages();
      }
      break;
    case EnvelopeKind::kOutcome:
      OnOutcome(*this, std::move(*static_cast<SpawnReport*>(envelope->value())));
      break;
    case EnvelopeKind::kNameChange: {
      auto& name = *static_cast<NameReport*>(envelope->value());
      absl::optional<std::shared_ptr<MessageHandler>> handler = watches().HandlerOfName(name.watch);
      if (!handler.has_value()) break;
      AddEvent({.kind = Event::Kind::kName,
                .payload = Payload::Of(NameChange{.name = std::move(name.name), .pid = name.pid}),
                .handler = *std::move(handler)});
      break;
    }
  }
  Envelope::Delete(envelope);  // nothing of users is left in it
}

bool ActorCore::AddEvent(Event event) {
  event.stamp = ++last_stamp_;
  if (rare().events.Add(std::move(event))) return true;
  system().CountMergedExit();
  return false;
}

void ActorCore::FireTimers() {
  rare().executor_timer = 0;
  rare().executor_time = MonotonicTime::InfiniteFuture();
  const ActorTimers::Time time = ReadClocks();
  ExpireAsks(*this, time.now);
  if (rare_->expires_at <= time.now) {
    rare_->expires_at = MonotonicTime::InfiniteFuture();
    ExpireWaitingMessages();
  }
  if (rare_->timers == nullptr) return;
  while (absl::optional<Event> event = timers().NextDue(time, rare_->behaviors.epoch(), rare_->events))
    AddEvent(*std::move(event));
}

bool ActorCore::RunsOn(const Event& event) {
  return event.at != absl::InfinitePast() && timers().RunsOn(event, rare_->behaviors.epoch(), ReadClocks());
}

// Called before the actor goes idle: has the executor post a kTick when the earliest timer, ask or waiting message is
// due.
void ActorCore::ArmExecutor() {
  if (layout().has_expiring_calls()) WatchExpiry();
  if (rare_ == nullptr) return;
  MonotonicTime next = MonotonicTime::InfiniteFuture();
  if (rare_->timers != nullptr) next = rare_->timers->Next();
  if (rare_->asks != nullptr) next = std::min(next, rare_->asks->NextDeadline());
  next = std::min(next, rare_->expires_at);
  if (next.is_infinite() || next >= rare_->executor_time) return;
  if (rare_->executor_timer != 0) system().executor().Cancel(rare_->executor_timer);
  rare_->executor_time = next;
  rare_->executor_timer = system().executor().RunAt(next, [cell = &cell(), life = life(), core = &system()] {
    PostOrDrop(*cell, *core, life, Envelope::Make(EnvelopeKind::kTick));
  });
}

// At the end of the life: cancels the executor's timers for this actor.
void ActorCore::DisarmExecutor() {
  if (rare_ == nullptr) return;
  const uint64_t parents = rare_->exits == nullptr ? 0 : rare_->exits->TakeParentsTimer();
  for (const uint64_t timer : {std::exchange(rare_->executor_timer, 0), parents, rare_->spawn.TakeStartTimer()}) {
    if (timer != 0) system().executor().Cancel(timer);
  }
}

void ActorCore::EnterTimersOf(const BehaviorTable& table, std::shared_ptr<MessageHandler>* at_once) {
  if (table.extra() == nullptr || table.extra()->timers.empty()) return;
  timers().Enter(table.extra()->timers, rare_->behaviors.epoch(), ReadClocks(), at_once);
}

// The mailboxes (bit i: mailbox i) whose messages could be handled if one arrived now.
uint64_t ActorCore::OpenMask() {
  BehaviorTable* table = Effective();
  if (table == nullptr || (rare_ != nullptr && rare_->activations.IsHeld())) return 0;
  if (!table->has_guards()) return table->mailboxes() & ~closed_mask();
  const ClauseSet guards = HoldingGuards(*table);
  uint64_t mask = 0;
  for (size_t i = 0; i < table->size(); ++i) {
    if (guards[i]) mask |= uint64_t{1} << table->mailbox(i);
  }
  return mask & ~closed_mask();
}

}  // namespace understudy::internal

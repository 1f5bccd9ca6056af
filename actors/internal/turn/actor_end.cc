// How an actor ends, by itself or fenced.
#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/memory/deferred_destruction.h"
#include "understudy/actors/internal/turn/actor_asks.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_crash.h"
#include "understudy/actors/internal/turn/actor_disposal.h"
#include "understudy/actors/internal/turn/actor_queues.h"
#include "understudy/actors/internal/turn/actor_signals.h"
#include "understudy/actors/internal/turn/turn_scope.h"

namespace understudy::internal {

// The first exit wins.
void ActorCore::SetExit(ExitReason reason, ExitCause cause) {
  if (has_exit()) return;
  Set(kHasExit);
  is_killed_ = cause == ExitCause::kKill;
  if (!reason.is_normal()) exits().End(std::move(reason));
  if (cause <= ExitCause::kOwnOutside && this->reason().is_abnormal()) NoteCrash(cause);
}

ExitReason ActorCore::reason() const {
  const ExitReason* const reason = known_exits().reason();
  return reason != nullptr ? *reason : ExitReason::Normal();
}

const ExitReason* ActorCore::ending() const {
  static const ExitReason* const normal = new ExitReason(ExitReason::Normal());
  if (!has_exit()) return nullptr;
  const ExitReason* const reason = known_exits().reason();
  return reason != nullptr ? reason : normal;
}

// Suspended handlers newest first, OnExit, the object, names, exits and Downs.
void ActorCore::End() {
  const ExitReason reason = this->reason();
  is_ending_ = true;
  cell().BeginStop();
  if (const CrashReport* crash = known_exits().crash(); crash != nullptr) LogCrash(*this, *crash, reason);
  if (rare_ != nullptr) {
    rare_->activations.ForgetResumable();
    rare_->behaviors.SetNext(nullptr);
    DropActivations(reason);
  }
  std::exception_ptr thrown;
  InUserCode([&] {
    if (actor_ != nullptr && !is_killed_) thrown = Caught([&] { actor_->OnExit(reason); });
  });
  if (!is_fenced()) {
    // The reason is decided already.
    if (thrown != nullptr)
      LogError(system(), absl::StrCat(self().ToString(), " threw in OnExit, and ends all the same: ",
                                      DescribeException(thrown).ToString()));
    DropHandlers();
  }
  if (!is_fenced()) {
    std::unique_ptr<Actor> object = std::move(actor_);
    InUserCode([&] { object = nullptr; });
  }
  if (is_fenced()) {
    FinishFenced();
    return;
  }
  // Before the end is told to others. The own thread runs no turn after this one.
  system().executor().EndOwnThread(own_thread());
  EndLife(reason);
  DropHandlers();  // that its destructor has made, and what waited
  Free();
}

// Does all that others see of the end: removes the actor's names, disposes of waiting messages, closes the cell, and
// sends exits and Downs.
void ActorCore::EndLife(const ExitReason& reason) {
  const uint64_t heir = HeirsMonitor();
  std::vector<Envelope*> kept;
  LeaveRegistry(reason);
  BuryWaiting(reason, heir == 0 ? nullptr : &kept);
  // Before others can be told that it is gone.
  if (!start_.has_started()) system().NoteFailedStart(self(), parent(), reason);
  TellOutcome(start_.has_declined() && !is_fenced() ? SpawnReport::Kind::kIgnored : SpawnReport::Kind::kFailed, reason);
  Bury(cell().Close(), reason, heir == 0 ? nullptr : &kept);
  TellReleased(ThisTurn());
  system().ledgers().EndLife(cell(), rare_ == nullptr ? nullptr : std::exchange(rare_->ledger, nullptr));
  system().remote_room().EndLife(cell(), life());
  cell().ResetCounts();
  if (cell().has_blocked_senders()) system().blocked_senders().Admit(cell(), life());
  TellOfEnd(reason, LeaveUnhandledMail(std::move(kept), reason), heir);
}

void ActorCore::DropActivations(const ExitReason& reason) {
  std::atomic<Rights>& rights = ThisWorker()->rights;
  rights.store(Rights::kLettingGo, std::memory_order_relaxed);
  while (!is_fenced()) {
    const std::unique_ptr<Activation> newest = rare_->activations.TakeNewest();
    if (newest == nullptr) break;
    SetCurrent(newest.get());
    InUserCode([&] {
      newest->held()->root = RootTask();  // frames first: their Repliers answer
      newest->DropMessage();
    });
    SetCurrent(nullptr);
    if (newest->source() != Activation::Source::kMessage || newest->is_forwarded || is_fenced()) continue;
    CountOutOfHand(*this, *newest);
    Count(*this, static_cast<size_t>(newest->mailbox), Disposition::kFailed);
    if (newest->is_call() && !newest->answer_given()) {
      newest->AnswerFinally(CalleeExitedError(self().ToString(), reason));
    }
  }
  if (!is_fenced()) rights.store(Rights::kAll, std::memory_order_relaxed);
}

// Destroys the handlers with what they hold. This must happen in the actor's own turn, because they may hold a Replier
// or a MonitorHandle, whose destructors call this ActorCore.
void ActorCore::DropHandlers() {
  behavior_ = nullptr;
  if (rare_ != nullptr) {
    rare_->behaviors.Clear();
    rare_->activations.DropReceives();
    if (rare_->exits != nullptr) rare_->exits->DropHandlers();
    (void)std::exchange(rare_->events, {});
    (void)std::exchange(rare_->timers, nullptr);
    if (rare_->watches != nullptr) rare_->watches->DropHandlers();
    if (rare_->asks != nullptr) {
      for (Answer& answer : rare_->asks->TakeAnswers()) DestroyLater(std::move(answer.payload));
    }
  }
  if (has_deferred()) Sweep();
}

void ActorCore::LeaveRegistry(const ExitReason& reason) {
  if (rare_ != nullptr && rare_->watches != nullptr) {
    for (const uint64_t id : rare_->watches->RegistryIds()) system().registry().Unwatch(id);
  }
  if (has_names_) system().registry().RemoveAll(self(), reason);
}

void ActorCore::BuryWaiting(const ExitReason& reason, std::vector<Envelope*>* kept) {
  if (has_postponed()) ReturnPostponed();
  if (has_mail_ == 0) return;
  for (size_t i = 0; i < layout().size(); ++i) {
    Queue& queue = cell().queue(i);
    while (queue.newest != nullptr) {
      Envelope* oldest = queue.newest->next;
      TakeOut(queue.newest, oldest, queue.newest);
      if (kept != nullptr && IsKept(layout(), *oldest)) {
        kept->push_back(oldest);
      } else {
        Dispose(*this, oldest, Disposition::kDeadLetter, CalleeExitedError(self().ToString(), reason));
      }
    }
  }
  if (kept == nullptr) return;
  std::sort(kept->begin(), kept->end(), [](const Envelope* a, const Envelope* b) { return a->stamp < b->stamp; });
}

// Disposes of the envelopes in `rest` and rare_->unsorted, which arrived before the cell was closed and were not
// sorted.
void ActorCore::Bury(Envelope* rest, const ExitReason& reason, std::vector<Envelope*>* kept) {
  const auto bury = [&](Envelope* envelope) {
    if (envelope->life != life()) {
      DisposeOfStale(*this, envelope);
      return;
    }
    if (envelope->kind == EnvelopeKind::kMessage) {
      if (envelope->has(Envelope::kIsEarly)) {
        cell().ReleaseEarly();
        LeaveEarly(*this, *envelope);
        if (kept != nullptr && KeepEarly(envelope)) {
          kept->push_back(envelope);
          return;
        }
      } else {
        Leave(envelope);
        if (kept != nullptr && IsKept(layout(), *envelope)) {
          kept->push_back(envelope);
          return;
        }
      }
      Dispose(*this, envelope, Disposition::kDeadLetter, CalleeExitedError(self().ToString(), reason));
      return;
    }
    if (envelope->kind == EnvelopeKind::kSignal) ActAfterEnd(*this, *static_cast<Signal*>(envelope->value()));
    if (envelope->kind == EnvelopeKind::kReply) system().CountLateReply();
    DestroyLater(envelope);
  };
  if (rare_ != nullptr) {
    for (Envelope* envelope : std::exchange(rare_->unsorted, {})) bury(envelope);
  }
  while (rest != nullptr) bury(std::exchange(rest, rest->next));
}

void ActorCore::TellOfEnd(const ExitReason& reason, UnhandledMail unhandled_mail, uint64_t heirs_monitor) {
  if (rare_ != nullptr) {
    EndAsks(*this);
    for (const auto& [id, target] : rare_->links.monitored()) TellOfDemonitor(*this, id, target);
    for (const Pid peer : rare_->links.Links()) {
      system().Post({.kind = SignalKind::kExit, .from = self(), .to = peer, .is_link = true, .reason = reason});
    }
    if (rare_->watches != nullptr) TellChildrenOfEnd(*this, *rare_->watches, reason);
    for (const auto& [watcher, id] : rare_->links.watchers()) {
      Signal down{.kind = SignalKind::kDown, .from = self(), .to = watcher, .id = id, .reason = reason};
      if (watcher == parent() && id == heirs_monitor && !unhandled_mail.empty()) {
        down.payload = Payload::Of(std::exchange(unhandled_mail, UnhandledMail()));
      }
      system().Post(std::move(down));
    }
  }
  if (parent_.TakeLink()) {
    system().Post({.kind = SignalKind::kExit, .from = self(), .to = parent(), .is_link = true, .reason = reason});
  }
  if (parent_.tells_down()) {
    Signal down{
        .kind = SignalKind::kDown, .from = self(), .to = parent(), .id = spawn_record().parents_id(), .reason = reason};
    if (!unhandled_mail.empty()) down.payload = Payload::Of(std::move(unhandled_mail));
    system().Post(std::move(down));
  }
}

// The last use of this object.
void ActorCore::Free() {
  SystemCore& core = system();
  ActorCell& own = cell();
  DisarmExecutor();
  this->~ActorCore();
  core.cells().Free(&own);
  // The system may be destroyed as soon as its last actor has ended.
  Executor& executor = core.executor();
  // seq_cst: this thread writes live_actors and then loads, in Notify, the count of blocked threads; BlockUntil
  // increments that count and then loads live_actors. So at least one of the two threads sees the other's write.
  core.live_actors.fetch_sub(1, std::memory_order_seq_cst);
  executor.Notify();
}

// The handler that runs has not returned for long after a Kill, or the start is
// long overdue. Its thread is held in user code, and finds the mark when it comes
// back to the kernel.
void ActorCore::Fence(ExitReason reason) {
  SystemCore* const system = SystemCore::OfLife(life());
  const TurnScope scope(system, cell());
  Set(kHasExit);
  is_killed_ = true;
  is_ending_ = true;
  Set(kIsFenced);
  exits().End(reason);
  cell().BeginStop();
  rare_->activations.ForgetResumable();
  system->CountFenced(1);
  auto destruction = std::make_unique<DeferredDestruction>(*system, self(), reason);
  // Before the cell is closed and the end is told; until FinishFenced.
  system->lingering_lives().Hold(self());
  {
    const DestructionQueue::Scope gathering(destruction->deferred());
    SettleFenced(current(), reason);
    for (const auto& activation : rare_->activations.all()) {
      if (activation.get() != current()) SettleFenced(activation.get(), reason);
    }
    for (const HeldRight& held : rare_->rights.TakeAll()) {
      if (!held.right->UseAs(held.hand)) continue;
      system->Reply(held.callee, held.asker, held.ask, CalleeExitedError(self().ToString(), reason));
    }
    EndLife(reason);
  }
  DeferredDestruction::Begin(std::move(destruction));
  DisarmExecutor();
}

// A message in hand of a fenced actor.
void ActorCore::SettleFenced(Activation* activation, const ExitReason& reason) {
  if (activation == nullptr || activation->source() != Activation::Source::kMessage || activation->is_forwarded) return;
  CountOutOfHand(*this, *activation);
  Count(*this, static_cast<size_t>(activation->mailbox), Disposition::kFailed);
  if (activation->is_call() && !activation->answer_given()) {
    activation->GiveAwayAnswer();
    system().Reply(self(), activation->asker(), activation->ask(), CalleeExitedError(self().ToString(), reason));
  }
}

// Called when the handler of a fenced actor has returned. Destroys its frames, handlers and object, and frees the cell.
void ActorCore::FinishFenced() {
  SetCurrent(nullptr);  // Describe must not read an activation that is destroyed below
  SystemCore& core = system();
  core.executor().EndOwnThread(own_thread());
  InUserCode([&] {
    while (rare_->activations.TakeNewest() != nullptr) {
    }
  });
  DropHandlers();
  InUserCode([&] { actor_ = nullptr; });
  DropHandlers();
  TellReleased(ThisTurn());
  core.CountFenced(-1);
  core.lingering_lives().Release(self());
  Free();
}

}  // namespace understudy::internal

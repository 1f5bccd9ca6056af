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
#include "understudy/actors/internal/turn/actor_due.h"
#include "understudy/actors/internal/turn/actor_queues.h"
#include "understudy/actors/internal/turn/actor_signals.h"
#include "understudy/actors/internal/turn/actor_unhandled_mail.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/internal/turn/exceptions.h"
#include "understudy/actors/internal/turn/in_user_code.h"
#include "understudy/actors/internal/turn/turn_scope.h"

namespace understudy::internal {
namespace {

void LeaveRegistry(ActorCore& core, const ExitReason& reason) {
  if (!core.parts().empty() && core.parts().known_watches() != nullptr) {
    for (const uint64_t id : core.parts().known_watches()->RegistryIds()) core.system().registry().Unwatch(id);
  }
  if (core.has_names()) core.system().registry().RemoveAll(core.self(), reason);
}

// Disposes of the waiting messages as dead letters. If `kept` is not null, messages that the successor is to get are
// appended to it instead.
void BuryWaiting(ActorCore& core, const ExitReason& reason, std::vector<Envelope*>* kept) {
  if (HasPostponed(core)) ReturnPostponed(core);
  if (core.mail().mailboxes() == 0) return;
  for (size_t i = 0; i < core.layout().size(); ++i) {
    Queue& queue = core.cell().queue(i);
    while (queue.newest != nullptr) {
      Envelope* oldest = queue.newest->next;
      TakeOut(core, queue.newest, oldest, queue.newest);
      if (kept != nullptr && IsKept(core.layout(), *oldest)) {
        kept->push_back(oldest);
      } else {
        Dispose(core, oldest, Disposition::kDeadLetter, CalleeExitedError(core.self().ToString(), reason));
      }
    }
  }
  if (kept == nullptr) return;
  std::sort(kept->begin(), kept->end(), [](const Envelope* a, const Envelope* b) { return a->stamp < b->stamp; });
}

// Disposes of the envelopes in `rest` and unsorted(), which arrived before the cell was closed and were not
// sorted, as BuryWaiting does.
void Bury(ActorCore& core, Envelope* rest, const ExitReason& reason, std::vector<Envelope*>* kept) {
  const auto bury = [&](Envelope* envelope) {
    if (envelope->life != core.life()) {
      DisposeOfStale(core, envelope);
      return;
    }
    if (envelope->kind == EnvelopeKind::kMessage) {
      if (envelope->has(Envelope::kIsEarly)) {
        core.cell().ReleaseEarly();
        LeaveEarly(core, *envelope);
        if (kept != nullptr && KeepEarly(core, envelope)) {
          kept->push_back(envelope);
          return;
        }
      } else {
        Leave(core, envelope);
        if (kept != nullptr && IsKept(core.layout(), *envelope)) {
          kept->push_back(envelope);
          return;
        }
      }
      Dispose(core, envelope, Disposition::kDeadLetter, CalleeExitedError(core.self().ToString(), reason));
      return;
    }
    if (envelope->kind == EnvelopeKind::kSignal) ActAfterEnd(core, *static_cast<Signal*>(envelope->value()));
    if (envelope->kind == EnvelopeKind::kReply) core.system().counts().late_replies.Add();
    DestroyLater(envelope);
  };
  if (!core.parts().empty()) {
    for (Envelope* envelope : std::exchange(core.parts().unsorted(), {})) bury(envelope);
  }
  while (rest != nullptr) bury(std::exchange(rest, rest->next));
}

void TellOfEnd(ActorCore& core, const ExitReason& reason, UnhandledMail unhandled_mail, uint64_t heirs_monitor) {
  if (!core.parts().empty()) {
    EndAsks(core);
    for (const auto& [id, target] : core.parts().known_links()->monitored()) TellOfDemonitor(core, id, target);
    for (const Pid peer : core.parts().known_links()->Links()) {
      core.system().Post(
          {.kind = SignalKind::kExit, .from = core.self(), .to = peer, .is_link = true, .reason = reason});
    }
    if (core.parts().known_watches() != nullptr) TellChildrenOfEnd(core, *core.parts().known_watches(), reason);
    for (const auto& [watcher, id] : core.parts().known_links()->watchers()) {
      Signal down{.kind = SignalKind::kDown, .from = core.self(), .to = watcher, .id = id, .reason = reason};
      if (watcher == core.parts().parent() && id == heirs_monitor && !unhandled_mail.empty()) {
        down.payload = Payload::Of(std::exchange(unhandled_mail, UnhandledMail()));
      }
      core.system().Post(std::move(down));
    }
  }
  if (core.parts().parent_tie().TakeLink()) {
    core.system().Post({.kind = SignalKind::kExit,
                        .from = core.self(),
                        .to = core.parts().parent(),
                        .is_link = true,
                        .reason = reason});
  }
  if (core.parts().parent_tie().tells_down()) {
    Signal down{.kind = SignalKind::kDown,
                .from = core.self(),
                .to = core.parts().parent(),
                .id = core.parts().spawn_or_default().parents_id(),
                .reason = reason};
    if (!unhandled_mail.empty()) down.payload = Payload::Of(std::move(unhandled_mail));
    core.system().Post(std::move(down));
  }
}

// A message in hand of a fenced actor.
void SettleFenced(ActorCore& core, Activation* activation, const ExitReason& reason) {
  if (activation == nullptr || activation->source() != Activation::Source::kMessage || activation->is_forwarded) return;
  CountOutOfHand(core, *activation);
  Count(core, static_cast<size_t>(activation->mailbox), Disposition::kFailed);
  if (activation->is_call() && !activation->answer_given()) {
    activation->GiveAwayAnswer();
    core.system().Reply(core.self(), activation->asker(), activation->ask(),
                        CalleeExitedError(core.self().ToString(), reason));
  }
}

// Does all that others see of the end: removes the actor's names, disposes of waiting messages, closes the cell, and
// sends exits and Downs.
void EndLife(ActorCore& core, const ExitReason& reason) {
  const uint64_t heir = HeirsMonitor(core);
  std::vector<Envelope*> kept;
  LeaveRegistry(core, reason);
  BuryWaiting(core, reason, heir == 0 ? nullptr : &kept);
  // Before others can be told that it is gone.
  if (!core.stage().start().has_started())
    core.system().population().failed_starts().Note(core.self(), core.parts().parent(), reason);
  TellOutcome(core,
              core.stage().start().has_declined() && !core.stage().is_fenced() ? SpawnOutcome::Kind::kIgnored
                                                                               : SpawnOutcome::Kind::kFailed,
              reason);
  Bury(core, core.cell().Close(), reason, heir == 0 ? nullptr : &kept);
  TellReleased(core, ThisTurn());
  core.system().ledgers().EndLife(core.cell(),
                                  core.parts().empty() ? nullptr : std::exchange(core.parts().ledger(), nullptr));
  core.system().remote_room().EndLife(core.cell(), core.life());
  core.cell().ResetCounts();
  if (core.cell().has_blocked_senders()) core.system().blocked_senders().Admit(core.cell(), core.life());
  TellOfEnd(core, reason, LeaveUnhandledMail(core, std::move(kept), reason), heir);
}

}  // namespace

// The first exit wins.
void ActorCore::SetExit(ExitReason reason, ExitCause cause) {
  if (!(cause == ExitCause::kKill ? stage_.DecideKill() : stage_.DecideEnd())) return;
  if (!reason.is_normal()) parts_.exits().End(std::move(reason));
  if (cause <= ExitCause::kOwnOutside && ReasonOf(*this).is_abnormal()) NoteCrash(*this, cause);
}

const ExitReason* ActorCore::ending() const {
  static const ExitReason* const normal = new ExitReason(ExitReason::Normal());
  if (!stage_.has_exit()) return nullptr;
  const ExitReason* const reason = parts_.exits_or_default().reason();
  return reason != nullptr ? reason : normal;
}

// Suspended handlers newest first, OnExit, the object, names, exits and Downs.
void ActorCore::End() {
  const ExitReason reason = ReasonOf(*this);
  if (ABSL_PREDICT_FALSE(system().observation().sees_steps())) TraceEnd(*this, reason);
  stage_.BeginEnd();
  cell().BeginStop();
  // A look that begins from now on sees that the actor is stopping, and reads nothing that is destroyed below.
  AwaitLook();
  const bool has_crashed = parts_.exits_or_default().crash() != nullptr;
  if (has_crashed) LogCrash(*this, *reason.crash(), reason);
  if (!parts_.empty()) {
    parts_.activations().ForgetResumable();
    parts_.behaviors().SetNext(nullptr);
    DropActivations(reason);
  }
  std::exception_ptr thrown;
  InUserCode([&] {
    if (has_crashed) system().crash_listeners().Tell(*reason.crash(), reason);
    if (actor_ != nullptr && !stage_.is_killed()) thrown = Caught([&] { actor_->OnExit(reason); });
  });
  if (!stage_.is_fenced()) {
    // The reason is decided already.
    if (thrown != nullptr)
      LogError(system(), absl::StrCat(self().ToString(), " threw in OnExit, and ends all the same: ",
                                      DescribeException(thrown).ToString()));
    DropHandlers();
  }
  if (!stage_.is_fenced()) {
    std::unique_ptr<Actor> object = std::move(actor_);
    InUserCode([&] { object = nullptr; });
  }
  if (stage_.is_fenced()) {
    FinishFenced();
    return;
  }
  // Before the end is told to others. The own thread runs no turn after this one.
  system().executor().EndOwnThread(own_thread());
  EndLife(*this, reason);
  DropHandlers();  // that its destructor has made, and what waited
  Free();
}

void ActorCore::DropActivations(const ExitReason& reason) {
  std::atomic<Rights>& rights = ThisWorker()->rights;
  rights.store(Rights::kLettingGo, std::memory_order_relaxed);
  while (!stage_.is_fenced()) {
    const std::unique_ptr<Activation> newest = parts_.activations().TakeNewest();
    if (newest == nullptr) break;
    SetCurrent(newest.get());
    InUserCode([&] {
      newest->held()->root = RootTask();  // frames first: their Repliers answer
      newest->DropMessage();
    });
    SetCurrent(nullptr);
    if (newest->source() != Activation::Source::kMessage || newest->is_forwarded || stage_.is_fenced()) continue;
    CountOutOfHand(*this, *newest);
    Count(*this, static_cast<size_t>(newest->mailbox), Disposition::kFailed);
    if (newest->is_call() && !newest->answer_given()) {
      newest->AnswerFinally(CalleeExitedError(self().ToString(), reason));
    }
  }
  if (!stage_.is_fenced()) rights.store(Rights::kAll, std::memory_order_relaxed);
}

// Destroys the handlers with what they hold. This must happen in the actor's own turn, because they may hold a Replier
// or a MonitorHandle, whose destructors call this ActorCore.
void ActorCore::DropHandlers() {
  behavior_ = nullptr;
  if (!parts_.empty()) {
    parts_.behaviors().Clear();
    parts_.activations().DropReceives();
    if (parts_.known_exits() != nullptr) parts_.known_exits()->DropHandlers();
    (void)std::exchange(parts_.events(), {});
    parts_.TakeTimers() = nullptr;
    if (parts_.known_watches() != nullptr) parts_.known_watches()->DropHandlers();
    if (parts_.known_asks() != nullptr) {
      for (Answer& answer : parts_.known_asks()->TakeAnswers()) DestroyLater(std::move(answer.payload));
    }
  }
  if (stage_.has_deferred()) Sweep();
}

// The last use of this object.
void ActorCore::Free() {
  SystemCore& core = system();
  ActorCell& own = cell();
  DisarmExecutor(*this);
  this->~ActorCore();
  core.cells().Free(&own);
  // The system may be destroyed as soon as its last actor has ended.
  Executor& executor = core.executor();
  // seq_cst: this thread writes Population::live and then loads, in Notify, the count of blocked threads; BlockUntil
  // increments that count and then loads Population::live. So at least one of the two threads sees the other's write.
  core.population().live.fetch_sub(1, std::memory_order_seq_cst);
  executor.Notify();
}

// The handler that runs has not returned for long after a Kill, or the start is
// long overdue. Its thread is held in user code, and finds the mark when it comes
// back to the kernel.
void ActorCore::Fence(ExitReason reason) {
  SystemCore* const system = SystemCore::OfLife(life());
  const TurnScope scope(system, cell());
  stage_.BecomeFenced();
  parts_.exits().End(reason);
  cell().BeginStop();
  parts_.activations().ForgetResumable();
  system->counts().fenced.Add(1);
  auto destruction = std::make_unique<DeferredDestruction>(*system, self(), reason);
  // Before the cell is closed and the end is told; until FinishFenced.
  system->lingering_lives().Hold(self());
  {
    const DestructionQueue::Scope gathering(destruction->deferred());
    SettleFenced(*this, current(), reason);
    for (const auto& activation : parts_.activations().all()) {
      if (activation.get() != current()) SettleFenced(*this, activation.get(), reason);
    }
    for (const HeldRight& held : parts_.rights().TakeAll()) {
      if (!held.right->UseAs(held.hand)) continue;
      system->Reply(held.callee, held.asker, held.ask, CalleeExitedError(self().ToString(), reason));
    }
    EndLife(*this, reason);
  }
  DeferredDestruction::Begin(std::move(destruction));
  DisarmExecutor(*this);
}

// Called when the handler of a fenced actor has returned. Destroys its frames, handlers and object, and frees the cell.
void ActorCore::FinishFenced() {
  AwaitLook();          // as in End; Fence has begun the stop
  SetCurrent(nullptr);  // Describe must not read an activation that is destroyed below
  SystemCore& core = system();
  core.executor().EndOwnThread(own_thread());
  InUserCode([&] {
    while (parts_.activations().TakeNewest() != nullptr) {
    }
  });
  DropHandlers();
  InUserCode([&] { actor_ = nullptr; });
  DropHandlers();
  TellReleased(*this, ThisTurn());
  core.counts().fenced.Add(-1);
  core.lingering_lives().Release(self());
  Free();
}

}  // namespace understudy::internal

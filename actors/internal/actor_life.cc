// How an actor begins and how it ends.
#include <algorithm>
#include <deque>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/variant.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/actor_core.h"
#include "understudy/actors/internal/constructing.h"
#include "understudy/actors/internal/exceptions.h"

namespace understudy::internal {

namespace {

// A name that another actor has is told from other failures of a start: a
// supervisor waits for it.
ExitReason NotTaken(absl::string_view name, const absl::Status& why) {
  ExitReason failed = ExitReason::Failed(why);
  return absl::IsAlreadyExists(why) ? ExitReason::NameConflict(name).CausedBy(failed) : failed;
}

}  // namespace

// Runs the constructor and begins Start. False when the constructor failed.
bool ActorCore::Construct() {
  absl::optional<ExitReason> thrown;
  {
    const ConstructingScope scope(this);
    thrown = CatchExceptions([&] { actor_ = std::move(make_)(); });
  }
  make_ = nullptr;
  if (!thrown && actor_ == nullptr) thrown = ExitReason::Failed(absl::InternalError("the factory made no actor"));
  if (thrown) {
    // What its mailboxes were is not known: all that came early is buried.
    mailboxes_.clear();
    SetExit(*std::move(thrown), /*is_kill=*/false);
    return false;
  }
  stage_ = Stage::kStarting;
  std::vector<Gate> gates;
  gates.reserve(mailboxes_.size());
  for (const MailboxState& mailbox : mailboxes_) gates.push_back({.declaration = mailbox.declaration});
  std::deque<Envelope> early;
  cell_->SetGates(std::move(gates), early);
  AdmitEarly(std::move(early));
  if (exit_) return true;
  if (options_.start_within != absl::InfiniteDuration()) {
    AddTimer(system_.clock().Now() + options_.start_within, {.kind = Timer::Kind::kStartTimeout});
  }
  auto activation = std::make_unique<Activation>(*this, Activation::Source::kStart);
  class Starter final : public MessageHandler {
   public:
    void Run(Actor& /*self*/, Activation& started) override { started.SetRoot(started.core().StartSequence(started)); }
  };
  Starter starter;
  RunHandler(std::move(activation), starter);
  return true;
}

// Messages that came before the mailboxes were known, as if they came now.
void ActorCore::AdmitEarly(std::deque<Envelope> early) {
  for (Envelope& envelope : early) {
    Message* message = std::get_if<Message>(&envelope);
    if (message == nullptr) {
      inbound_.push_back(std::move(envelope));
      continue;
    }
    const auto mailbox = std::find_if(mailboxes_.begin(), mailboxes_.end(),
                                      [&](const MailboxState& m) { return m.declaration.hash == message->mailbox; });
    const bool fits = mailbox != mailboxes_.end() && (mailbox->declaration.reply != nullptr) == (message->ask != 0) &&
                      (message->payload.is_typed() ? message->payload.type() == mailbox->declaration.request
                                                   : mailbox->declaration.request->is_wire);
    if (!fits) {
      Dispose(*message, -1, Fate::kDeadLetter,
              MakeError(ErrorKind::kNoMailbox,
                        absl::StrCat("the actor has no mailbox ", MailboxNames::Find(message->mailbox), " for it")));
      continue;
    }
    const auto index = static_cast<int>(mailbox - mailboxes_.begin());
    if (const absl::Status room = cell_->AdmitEarly(index, message->payload.bytes()); !room.ok()) {
      Dispose(*message, index, Fate::kDeadLetter, room);
      continue;
    }
    // After this drain, in its place among the signals that came.
    inbound_.push_back(std::move(envelope));
  }
}

Task<absl::optional<ExitReason>> ActorCore::TakeNames() {
  if (!options_.registered_as.empty()) {
    if (absl::Status taken = Register(options_.registered_as); !taken.ok()) {
      co_return NotTaken(options_.registered_as, taken);
    }
  }
  if (!options_.published_as.empty()) {
    const Pending<void> publishing(Publish(options_.published_as));
    absl::Status taken = co_await publishing;
    if (!taken.ok()) co_return NotTaken(options_.published_as, taken);
  }
  co_return absl::nullopt;
}

// Names, then Start, then what it decided; the root of the first activation.
RootTask ActorCore::StartSequence(Activation& /*activation*/) {
  auto names = TakeNames();
  if (absl::optional<ExitReason> not_taken = co_await names; not_taken.has_value()) {
    SetExit(*std::move(not_taken), /*is_kill=*/false);
    co_return;
  }
  Next next = actor_->Start();
  while (absl::holds_alternative<Task<Next>>(next.choice_) && !exit_) {
    Task<Next> later = std::move(absl::get<Task<Next>>(next.choice_));
    next = co_await later;
  }
  if (exit_) co_return;
  if (const auto* failed = absl::get_if<absl::Status>(&next.choice_)) {
    SetExit(ExitReason::Failed(*failed), /*is_kill=*/false);
  } else if (absl::holds_alternative<Next::Ignored>(next.choice_)) {
    is_ignored_ = true;
    SetExit(ExitReason::Normal(), /*is_kill=*/false);
  } else if (auto* later = absl::get_if<Next::StartsLater>(&next.choice_)) {
    stage_ = Stage::kStartingOpen;
    if (!become_) become_ = later->behavior.table();
  } else if (auto* behavior = absl::get_if<Behavior>(&next.choice_)) {
    UNDERSTUDY_CHECK(behavior->table() != nullptr, "Start gave a behavior that was never built");
    stage_ = Stage::kRunning;
    TellOutcome(SpawnReport::Kind::kStarted, {});
    if (!become_) become_ = behavior->table();
  } else {
    Task<void> body = std::move(absl::get<Task<void>>(next.choice_));
    co_await body;
    if (exit_) co_return;
    FinishStart();
    SetExit(ExitReason::Normal(), /*is_kill=*/false);
  }
}

void ActorCore::FinishStart() {
  if (stage_ == Stage::kRunning) return;
  stage_ = Stage::kRunning;
  TellOutcome(SpawnReport::Kind::kStarted, {});
}

void ActorCore::TellOutcome(SpawnReport::Kind kind, const ExitReason& reason) {
  if (std::exchange(outcome_told_, true) || !tells_outcome_) return;
  ActorCell* cell = system_.CellOf(parent_);
  if (cell != nullptr) cell->Post(LifeOf(parent_), SpawnReport{.child = self_, .kind = kind, .reason = reason});
}

void ActorCore::Stop(ExitReason reason) { SetExit(std::move(reason), /*is_kill=*/false); }

void ActorCore::Fail(absl::Status status) {
  if (current_ != nullptr) current_->has_failed = true;
  SetExit(ExitReason::Failed(std::move(status)), /*is_kill=*/false);
}

// Suspended handlers newest first, OnExit, the object, names, exits and Downs.
void ActorCore::End() {
  const ExitReason reason = *exit_;
  is_ending_ = true;
  cell_->BeginStop();
  resumable_.clear();
  become_ = absl::nullopt;
  while (!activations_.empty()) {
    const std::unique_ptr<Activation> newest = std::move(activations_.back());
    activations_.pop_back();
    if (newest->source() == Activation::Source::kMessage) {
      newest->root() = RootTask();  // frames first: their Repliers answer
      if (newest->is_passed_on) continue;
      waiting_.fetch_sub(1, std::memory_order_relaxed);
      system_.Count(Fate::kFailed);
      if (newest->is_call() && !newest->answer_given()) {
        newest->AnswerFinally(CalleeExitedError(self_.ToString(), reason));
      }
    }
  }
  if (actor_ != nullptr && !is_killed_) {
    (void)CatchExceptions([&] { actor_->OnExit(reason); });  // the reason is decided already
  }
  DropHandlers();
  actor_ = nullptr;
  for (const auto& [id, watch] : name_watches_) system_.registry().Unwatch(watch.registry_id);
  for (const auto& [id, ask] : asks_) {
    if (ask.name_watch != 0) system_.registry().Unwatch(ask.name_watch);
  }
  system_.registry().RemoveAll(self_);
  BuryWaiting(reason);
  BuryRest(cell_->Close(), reason);
  TellOfEnd(reason);
  if (executor_timer_ != 0) system_.executor().Cancel(executor_timer_);
  system_.cells().Free(cell_);
  // The system may be destroyed as soon as its last actor has ended.
  Executor& executor = system_.executor();
  // Before Notify asks whether somebody waits: one total order with BlockUntil.
  system_.live_actors.fetch_sub(1, std::memory_order_seq_cst);
  executor.Notify();
}

// What handlers hold belongs to the object, and goes on the actor's own turn:
// it may be a Replier or a MonitorHandle, which come back here.
void ActorCore::DropHandlers() {
  behavior_ = nullptr;
  stack_.clear();
  receive_ = nullptr;
  exit_handler_ = nullptr;
  parent_exit_handler_ = nullptr;
  stop_handler_ = nullptr;
  (void)std::exchange(events_, {});
  (void)std::exchange(timers_, {});
  (void)std::exchange(monitor_handlers_, {});
  (void)std::exchange(outcome_handlers_, {});
  for (auto& [id, watch] : name_watches_) watch.handler = nullptr;
  for (auto& [id, ask] : asks_) ask.answer = {};
}

void ActorCore::BuryWaiting(const ExitReason& reason) {
  for (size_t i = 0; i < mailboxes_.size(); ++i) {
    while (!mailboxes_[i].queue.empty()) {
      const Waiting waiting = std::move(mailboxes_[i].queue.front());
      mailboxes_[i].queue.pop_front();
      Leave(static_cast<int>(i), waiting);
      Dispose(waiting.message, static_cast<int>(i), Fate::kDeadLetter, CalleeExitedError(self_.ToString(), reason));
    }
  }
}

// What arrived and was not drained when the life ended.
void ActorCore::BuryRest(std::deque<Envelope> rest, const ExitReason& reason) {
  for (Envelope& envelope : rest) inbound_.push_back(std::move(envelope));
  while (!inbound_.empty()) {
    Envelope envelope = std::move(inbound_.front());
    inbound_.pop_front();
    if (auto* message = std::get_if<Message>(&envelope)) {
      Dispose(*message, -1, Fate::kDeadLetter, CalleeExitedError(self_.ToString(), reason));
    } else if (auto* signal = std::get_if<Signal>(&envelope)) {
      switch (signal->kind) {
        case SignalKind::kLink:
        case SignalKind::kUnlink:
        case SignalKind::kUnlinkAck:
        case SignalKind::kMonitor:
        case SignalKind::kDemonitor:
          Act(std::move(*signal));
          break;
        case SignalKind::kExit:
          if (signal->is_link) links_.OnLinkExit(signal->from);
          break;
        case SignalKind::kDown:
          links_.OnDown(signal->id);
          break;
        default:
          break;
      }
    }
  }
}

void ActorCore::TellOfEnd(const ExitReason& reason) {
  TellOutcome(is_ignored_ ? SpawnReport::Kind::kIgnored : SpawnReport::Kind::kFailed, reason);
  for (const auto& [id, ask] : asks_) {
    if (!ask.is_answered && !ask.callee.is_null()) {
      system_.Post({.kind = SignalKind::kCancel, .from = self_, .to = ask.callee, .id = id});
    }
  }
  for (const auto& [id, target] : links_.monitored()) {
    system_.Post({.kind = SignalKind::kDemonitor, .from = self_, .to = target, .id = id});
  }
  for (const Pid peer : links_.Links()) {
    system_.Post({.kind = SignalKind::kExit, .from = self_, .to = peer, .is_link = true, .reason = reason});
  }
  for (const auto& [watcher, id] : links_.watchers()) {
    system_.Post({.kind = SignalKind::kDown, .from = self_, .to = watcher, .id = id, .reason = reason});
  }
}

}  // namespace understudy::internal

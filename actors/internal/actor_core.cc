#include "understudy/actors/internal/actor_core.h"

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
#include "understudy/actors/internal/actor_queues.h"
#include "understudy/actors/internal/turn_scope.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {
namespace {

// How a spawn differs from the plainest, and the actor must remember it.
bool IsPlain(const SpawnOptions& options) {
  static const SpawnOptions* const plain = new SpawnOptions;
  return options.registered_as.empty() && options.published_as.empty() && options.label.empty() &&
         options.start_within == plain->start_within && options.shutdown_within == plain->shutdown_within &&
         options.held_until_gone == nullptr && options.thread == plain->thread;
}

}  // namespace

ActorCore::ActorCore(Pid parent) : parent_cell_(parent.cell()), parent_life_(parent.life()) {}

ActorCore::~ActorCore() = default;

Pid ActorCore::Spawn(SystemCore& system, Pid parent, SpawnOptions&& options, MakeActor&& make, ParentsWish wish) {
  ActorCell* cell = system.cells().Allocate();
  const Pid self = system.NewPid(*cell);
  auto* core = new (cell->owner_memory()) ActorCore(parent);
  core->is_linked_to_parent_ = options.link == SpawnLink::kLinked && !parent.is_null();
  core->is_tied_to_parent_ = options.link == SpawnLink::kOneWay && !parent.is_null();
  auto birth = std::make_unique<Birth>();
  birth->make = std::move(make);
  birth->wish = wish;
  options.outcome_handler = nullptr;
  options.down_handler = nullptr;
  if (const auto estate = std::exchange(options.estate, nullptr); estate != nullptr) {
    birth->estate = std::move(*estate);
  }
  if (options.thread == SpawnThread::kOwn) {
    absl::StatusOr<uint32_t> thread = system.executor().NewOwnThread();
    if (thread.ok()) {
      core->set_own_thread(*thread);
    } else {
      birth->has_failed = ExitReason::Failed(thread.status());
    }
  }
  if (!IsPlain(options)) birth->options = std::make_unique<SpawnOptions>(std::move(options));
  core->birth_ = birth.release();
  system.live_actors.fetch_add(1, std::memory_order_relaxed);
  cell->Open(self.life());
  system.executor().Schedule(core);
  return self;
}

ActorCore& ActorCore::OfThisTurn() {
  ActorCore* core = ThisTurn().actor;
  UNDERSTUDY_CHECK(core != nullptr, "this is for an actor's turn; a plain thread uses ActorSystem");
  return *core;
}

ActorCore* ActorCore::OfThisTurn(Pid pid) { return ThisTurn().self == pid ? ThisTurn().actor : nullptr; }

Rare& ActorCore::rare() {
  if (rare_ == nullptr) rare_ = std::make_unique<Rare>();
  return *rare_;
}

Random& ActorCore::random() {
  absl::optional<Random>& random = rare().random;
  if (!random) random.emplace(system().SeedFor(self().serial()));
  return *random;
}

std::vector<MailboxSignature> ActorCore::Signatures() {
  std::vector<MailboxSignature> signatures;
  for (size_t i = 0; i < layout().size(); ++i) {
    const MailboxDeclaration& d = layout()[i];
    signatures.push_back({.name = std::string(d.wire_name),
                          .is_call = d.is_call(),
                          .request = d.request->name(),
                          .reply = d.is_call() ? d.reply->name() : ""});
  }
  return signatures;
}

void ActorCore::Run() {
  SystemCore* const system = SystemCore::OfLife(life());
  TurnScope scope({.system = system, .actor = this, .worker = ThisWorker(), .self = self()});
  if (stage_ == Stage::kConstructing && !Construct()) {
    is_fenced_ ? FinishFenced() : End();
    return;
  }
  int budget = limits::kMessagesPerTurnMax;
  for (;;) {
    const bool has_more = TurnLoop(budget);
    if (is_fenced_) {
      FinishFenced();
      return;
    }
    const uint64_t open = has_exit_ || has_more ? 0 : OpenMask();  // a guard may throw, or not return
    if (is_fenced_) {
      FinishFenced();
      return;
    }
    if (has_exit_) {
      End();
      return;
    }
    if (ThisTurn().unpublished != 0) PublishLimits();
    if (ABSL_PREDICT_FALSE(cell().has_room_waiters())) system->room_waiters().Admit(cell(), life());
    if (rare_ != nullptr) ArmExecutor();
    // The last use of this object: another turn may begin at once.
    if (has_more) {
      system->executor().Schedule(this);
      return;
    }
    if (cell().TryIdle(open)) return;
  }
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void ActorCore::DrainInbound() {
  Envelope* envelope = cell().TakeInbound();
  const uint64_t own_life = life();
  while (envelope != nullptr) {
    Envelope* const next = envelope->next;
    if (ABSL_PREDICT_FALSE(envelope->life != own_life)) {
      OnStale(envelope);
    } else if (ABSL_PREDICT_FALSE(has_exit_)) {
      // It came after what ends the actor: it is buried with what waits.
      envelope->next = nullptr;
      rare().unsorted.push_back(envelope);
    } else if (ABSL_PREDICT_TRUE(envelope->kind == EnvelopeKind::kMessage)) {
      envelope->has(Envelope::kIsEarly) ? AdmitEarly(envelope) : Enqueue(envelope);
    } else {
      ActOn(envelope);
    }
    envelope = next;
  }
}

// True when the turn's budget ended it. Stops early when the actor must end.
bool ActorCore::TurnLoop(int& budget) {
  bool& drains = ThisTurn().drains;
  drains = true;
  for (;;) {
    if (drains || budget % kDrainEvery == 0 || (behavior_ != nullptr && behavior_->has_ranks())) {
      drains = false;
      DrainInbound();
      if (has_exit_) return false;
    }
    if (budget <= 0) return true;
    if (ABSL_PREDICT_TRUE(HandlesOldest())) {
      const bool has_more = HandleOldest(budget);
      if (has_exit_ || is_fenced_) return false;
      if (!has_more) {
        if (!cell().HasInbound()) return false;
        drains = true;
      }
      continue;
    }
    --budget;
    if (rare_ != nullptr && !rare_->resumable.empty()) {
      const Waiter next = rare_->resumable.front();
      rare_->resumable.erase(rare_->resumable.begin());
      Resume(next);
    } else if (!HandleOne()) {
      if (has_exit_ || is_fenced_ || !cell().HasInbound()) return false;
      drains = true;
    }
    if (has_exit_ || is_fenced_) return false;
  }
}

// What is not a message.
void ActorCore::ActOn(Envelope* envelope) {
  switch (envelope->kind) {
    case EnvelopeKind::kMessage:
    case EnvelopeKind::kWake:
      break;
    case EnvelopeKind::kReply: {
      const uint64_t ask = envelope->ask();
      if (!Answered(ask, absl::OkStatus(), Payload(envelope))) system().CountLateReply();
      return;
    }
    case EnvelopeKind::kSignal:
      Act(std::move(*static_cast<Signal*>(envelope->value())));
      break;
    case EnvelopeKind::kTick:
      FireTimers();
      break;
    case EnvelopeKind::kOverflow:
      if (const MailboxDeclaration& full = layout()[envelope->mailbox]; full.options.overflow == Overflow::kFailActor) {
        SetExit(ExitReason::Overflow(full.wire_name), ExitCause::kOwn);
      } else {
        cell().ForgetExpiry();
        ExpireWaitingCalls(envelope->mailbox);
      }
      break;
    case EnvelopeKind::kOutcome:
      OnOutcome(std::move(*static_cast<SpawnReport*>(envelope->value())));
      break;
    case EnvelopeKind::kNameChange: {
      auto& name = *static_cast<NameReport*>(envelope->value());
      const auto watch = rare().name_watches.find(name.watch);
      if (watch == rare().name_watches.end()) break;
      AddEvent({.kind = Event::Kind::kName,
                .payload = Payload::Of(NameChange{.name = std::move(name.name), .pid = name.pid}),
                .handler = watch->second.handler});
      break;
    }
  }
  Envelope::Delete(envelope);
}

// It was sent to an earlier life of the cell, by somebody who was slow.
void ActorCore::OnStale(Envelope* envelope) {
  if (envelope->kind == EnvelopeKind::kSignal) {
    system().AnswerForDead(*static_cast<Signal*>(envelope->value()));
  } else if (envelope->kind == EnvelopeKind::kMessage) {
    cell().ForgetStale(envelope);
    Dispose(envelope, Fate::kDeadLetter, EndedError());
    return;
  }
  Envelope::Delete(envelope);
}

// Which mailboxes would be handled if mail came now.
uint64_t ActorCore::OpenMask() {
  if (HandlesOldest()) return behavior_->mailboxes() & ~(rare_ == nullptr ? 0 : rare_->leased);
  BehaviorTable* table = Effective();
  if (table == nullptr || IsHeld()) return 0;
  const uint64_t leased = rare_ == nullptr ? 0 : rare_->leased;
  if (!table->has_guards()) return table->mailboxes() & ~leased;
  const ClauseSet guards = HoldingGuards(*table);
  uint64_t mask = 0;
  for (size_t i = 0; i < table->size(); ++i) {
    if (guards[i]) mask |= uint64_t{1} << table->mailbox(i);
  }
  return mask & ~leased;
}

// Under a seizure, in its user code.
std::string ActorCore::Describe() {
  const MailboxLayout* mailboxes = cell().layout();
  absl::string_view what = "its code";
  if (current_ == nullptr || mailboxes == nullptr) {
    what = "its constructor, a guard or its end";
  } else if (current_->source() == Activation::Source::kStart) {
    what = "Start";
  } else if (current_->source() == Activation::Source::kEvent) {
    what = "an event";
  } else if (current_->mailbox >= 0) {
    what = (*mailboxes)[static_cast<size_t>(current_->mailbox)].wire_name;
  }
  return absl::StrCat(self().ToString(), " in the handler of ", what);
}

}  // namespace understudy::internal

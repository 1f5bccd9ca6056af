#include "understudy/actors/internal/actor_core.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/constructing.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {
namespace {

// Says on this thread whose turn runs.
class TurnScope {
 public:
  TurnScope(SystemCore& system, ActorCore* actor, Pid self) : outer_(ThisTurn()) {
    ThisTurn() = {.system = &system, .actor = actor, .self = self};
  }
  ~TurnScope() { ThisTurn() = outer_; }
  TurnScope(const TurnScope&) = delete;
  TurnScope& operator=(const TurnScope&) = delete;

 private:
  const CurrentTurn outer_;
};

}  // namespace

ActorCore::ActorCore(SystemCore& system, ActorCell* cell, Pid self, Pid parent, SpawnOptions options, MakeActor make)
    : system_(system),
      cell_(cell),
      self_(self),
      parent_(parent),
      options_(std::move(options)),
      tells_outcome_(!parent.is_null() && std::exchange(options_.outcome_handler, nullptr) != nullptr),
      random_(system.NewSeed()),
      make_(std::move(make)) {}

ActorCore::~ActorCore() = default;

Pid ActorCore::Spawn(SystemCore& system, Pid parent, SpawnOptions options, MakeActor make) {
  ActorCell* cell = system.cells().Allocate();
  const Pid self = system.NewPid(*cell);
  auto* core = new ActorCore(system, cell, self, parent, std::move(options), std::move(make));
  if (core->options_.link == SpawnLink::kLinked && !parent.is_null()) core->links_.OnLink(parent);
  system.live_actors.fetch_add(1, std::memory_order_relaxed);
  cell->Open(LifeOf(self), &system, core);
  return self;
}

ActorCore& ActorCore::OfThisTurn() {
  ActorCore* core = ThisTurn().actor;
  UNDERSTUDY_CHECK(core != nullptr, "this is for an actor's turn; a plain thread uses ActorSystem");
  return *core;
}

ActorCore* ActorCore::OfThisTurn(Pid pid) { return ThisTurn().self == pid ? ThisTurn().actor : nullptr; }

int ActorCore::AddMailbox(MailboxDeclaration declaration) {
  UNDERSTUDY_CHECK(stage_ == Stage::kConstructing, "mailbox ", declaration.wire_name,
                   " is made after its actor's constructor");
  UNDERSTUDY_CHECK(mailboxes_.size() < static_cast<size_t>(limits::kMailboxesPerActorMax), "mailbox ",
                   declaration.wire_name, " is one too many: an actor has at most ", limits::kMailboxesPerActorMax);
  for (const MailboxState& other : mailboxes_) {
    UNDERSTUDY_CHECK(other.declaration.hash != declaration.hash, "the actor has two mailboxes ", declaration.wire_name);
  }
  mailboxes_.emplace_back(std::move(declaration));
  return static_cast<int>(mailboxes_.size()) - 1;
}

std::vector<MailboxSignature> ActorCore::Signatures() const {
  std::vector<MailboxSignature> signatures;
  for (const MailboxState& mailbox : mailboxes_) {
    const MailboxDeclaration& d = mailbox.declaration;
    signatures.push_back({.name = d.wire_name,
                          .is_call = d.reply != nullptr,
                          .request = d.request->name,
                          .reply = d.reply == nullptr ? "" : d.reply->name});
  }
  return signatures;
}

void ActorCore::RunTurn() {
  TurnScope scope(system_, this, self_);
  if (stage_ == Stage::kConstructing && !Construct()) {
    End();
    delete this;
    return;
  }
  const bool has_more = TurnLoop();
  const uint64_t open = exit_ ? 0 : OpenMask();  // a guard may throw: then exit_ is set
  if (exit_) {
    End();
    delete this;
    return;
  }
  ArmExecutor();
  // The last use of this object: another turn may begin at once.
  cell_->EndTurn(open, has_more);
}

// True when the turn's quota ended it. Stops early when the actor must end.
bool ActorCore::TurnLoop() {
  for (int budget = limits::kMessagesPerTurnMax; budget > 0; --budget) {
    cell_->TakeInbound(inbound_);
    DrainInbound();
    if (exit_) return false;
    FailOnOverflow();
    if (exit_) return false;
    if (!resumable_.empty()) {
      const Resumable next = resumable_.front();
      resumable_.pop_front();
      Resume(next);
    } else if (!HandleOne()) {
      return false;
    }
    if (exit_) return false;
  }
  return !resumable_.empty() || HasEligible();
}

void ActorCore::DrainInbound() {
  while (!inbound_.empty() && !exit_) {
    Envelope envelope = std::move(inbound_.front());
    inbound_.pop_front();
    if (auto* message = std::get_if<Message>(&envelope)) {
      Arrived(std::move(*message));
    } else if (auto* signal = std::get_if<Signal>(&envelope)) {
      Act(std::move(*signal));
    } else if (const auto* tick = std::get_if<Tick>(&envelope)) {
      if (tick->expires_calls) {
        ExpireWaitingCalls();
      } else {
        FireTimers();
      }
    } else if (const auto* report = std::get_if<SpawnReport>(&envelope)) {
      const auto handler = outcome_handlers_.find(report->child);
      if (handler == outcome_handlers_.end()) continue;
      AddEvent(
          {.kind = Event::Kind::kOutcome,
           .peer = report->child,
           .payload = Payload::Of(SpawnOutcome{
               .pid = report->child, .kind = static_cast<SpawnOutcome::Kind>(report->kind), .reason = report->reason}),
           .handler = std::move(handler->second)});
      outcome_handlers_.erase(handler);
    } else if (const auto* name = std::get_if<NameReport>(&envelope)) {
      const auto watch = name_watches_.find(name->watch);
      if (watch == name_watches_.end()) continue;
      AddEvent({.kind = Event::Kind::kName,
                .payload = Payload::Of(NameChange{.name = name->name, .pid = name->pid}),
                .handler = watch->second.handler});
    }
  }
}

// A message was accepted by its gate: into its mailbox.
void ActorCore::Arrived(Message message) {
  const auto mailbox = std::find_if(mailboxes_.begin(), mailboxes_.end(),
                                    [&](const MailboxState& m) { return m.declaration.hash == message.mailbox; });
  Enqueue(static_cast<int>(mailbox - mailboxes_.begin()), std::move(message));
}

void ActorCore::Enqueue(int mailbox, Message message) {
  MailboxState& state = mailboxes_[static_cast<size_t>(mailbox)];
  Waiting waiting;
  waiting.bytes = message.payload.bytes();
  if (message.payload.is_wire_bytes()) {
    if (absl::Status parsed = message.payload.ParseAs(*state.declaration.request); !parsed.ok()) {
      waiting_.fetch_add(1, std::memory_order_relaxed);
      waiting.message = std::move(message);
      Leave(mailbox, waiting);
      Dispose(waiting.message, mailbox, Fate::kDropped, parsed);
      return;
    }
  }
  waiting.message = std::move(message);
  waiting.stamp = ++last_stamp_;
  waiting_.fetch_add(1, std::memory_order_relaxed);
  state.queue.push_back(std::move(waiting));
  DropOverflow(mailbox);
}

void ActorCore::DropOverflow(int mailbox) {
  MailboxState& state = mailboxes_[static_cast<size_t>(mailbox)];
  const MailboxOptions& options = state.declaration.options;
  if (options.overflow != Overflow::kDropOldest) return;
  size_t bytes = 0;
  if (options.capacity_bytes != SIZE_MAX) {
    for (const Waiting& waiting : state.queue) bytes += waiting.bytes;
  }
  while (!state.queue.empty() &&
         (static_cast<int64_t>(state.queue.size()) > options.capacity_messages || bytes > options.capacity_bytes)) {
    Waiting oldest = std::move(state.queue.front());
    state.queue.pop_front();
    bytes -= std::min(bytes, oldest.bytes);
    Leave(mailbox, oldest);
    Dispose(oldest.message, mailbox, Fate::kDropped,
            MakeError(ErrorKind::kFull, absl::StrCat("dropped from full mailbox ", state.declaration.wire_name,
                                                     " to make room for newer messages")));
  }
}

void ActorCore::FailOnOverflow() {
  for (size_t i = 0; i < mailboxes_.size(); ++i) {
    const MailboxDeclaration& declaration = mailboxes_[i].declaration;
    if (declaration.options.overflow == Overflow::kFailActor && cell_->TookOverflow(static_cast<int>(i))) {
      SetExit(ExitReason::Overflow(declaration.wire_name), /*is_kill=*/false);
    }
  }
}

void ActorCore::Leave(int mailbox, const Waiting& waiting) {
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  cell_->Released(mailbox, 1, waiting.bytes);
  const Pid from = waiting.message.from;
  if (from.node() != 0 && from.node() != self_.node() && !waiting.was_in_hand) {
    if (Router* router = system_.router(); router != nullptr) {
      router->Released(from, self_, waiting.message.mailbox, 1);
    }
  }
}

// Which mailboxes would be handled if mail came now.
uint64_t ActorCore::OpenMask() {
  BehaviorTable* table = Effective();
  if (table == nullptr || IsHeld()) return 0;
  const uint64_t guards = HoldingGuards(*table);
  uint64_t mask = 0;
  for (size_t i = 0; i < table->clauses.size(); ++i) {
    const auto mailbox = static_cast<size_t>(table->clauses[i].mailbox);
    if ((guards >> i & 1U) != 0 && mailboxes_[mailbox].leases == 0) mask |= uint64_t{1} << mailbox;
  }
  return mask;
}

}  // namespace understudy::internal

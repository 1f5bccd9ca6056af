#include "understudy/actors/internal/system/system_core.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/memory/destruction_queue.h"
#include "understudy/actors/internal/system/split_mix.h"
#include "understudy/actors/internal/system/unowned_names.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/node_table.h"

namespace understudy {

namespace internal {
namespace {

struct Systems {
  absl::Mutex mu;
  std::vector<SystemCore*> all ABSL_GUARDED_BY(mu);
};

Systems& GetSystems() {
  static Systems* const systems = new Systems;
  return *systems;
}

// Fences that life if, after `delay`, its handler or a destructor at its end has not returned. Tries again at intervals
// until the life has ended, because a fence is possible only while the actor is in user code. `has_started` is not null
// if the start is overdue, and null if the actor was killed.
void FenceAfter(Executor& executor, absl::Duration delay, ActorCell* cell, uint64_t life, HasStarted has_started) {
  if (!cell->IsAlive(life)) return;
  const MonotonicTime time = executor.clock().Now() + delay;
  (void)executor.RunAt(time, [&executor, cell, life, has_started = std::move(has_started)]() mutable {
    const bool is_killed = has_started == nullptr;
    // relaxed: a stale false is corrected by is_meant, which runs under a seizure of the worker.
    if (!cell->IsAlive(life) || (!is_killed && has_started->load(std::memory_order_relaxed))) return;
    // Meanwhile the life may have ended, so that the cell's next life runs; or it may have started in time.
    const auto is_meant = [&] { return cell->IsAlive(life) && (is_killed || cell->owner()->IsStarting()); };
    (void)executor.WhileInUserCode(cell->owner(), is_meant, [&] {
      cell->owner()->Fence(is_killed ? ExitReason::KilledHandlerRunning() : ExitReason::StartTimeoutHandlerRunning());
    });
    FenceAfter(executor, limits::kFenceRetry, cell, life, std::move(has_started));
  });
}

constexpr char kNoNode[] = "this system has no Node, so it reaches no other node; start one with Node::Start";

}  // namespace

absl::Status EndedError() { return MakeError(ErrorKind::kNoProcess, "that actor has ended; look its name up again"); }

absl::Status RefusedError() {
  const bool is_fenced = ThisWorker() == nullptr || ThisWorker()->rights != Rights::kLettingGo;
  return MakeError(ErrorKind::kCancelled, is_fenced ? "the actor was killed, and its handler has not returned since"
                                                    : "the actor ends, and its suspended handlers are destroyed");
}

void AddSystem(SystemCore* system) {
  Systems& systems = GetSystems();
  absl::MutexLock lock(&systems.mu);
  systems.all.push_back(system);
}

void RemoveSystem(SystemCore* system) {
  Systems& systems = GetSystems();
  absl::MutexLock lock(&systems.mu);
  systems.all.erase(std::remove(systems.all.begin(), systems.all.end(), system), systems.all.end());
}

std::string NameOfOnlySystem() {
  Systems& systems = GetSystems();
  absl::MutexLock lock(&systems.mu);
  return systems.all.size() == 1 ? systems.all.front()->name() : std::string();
}

SystemCore& SystemOfThisThread() {
  if (SystemCore* system = ThisTurn().system; system != nullptr) return *system;
  Systems& systems = GetSystems();
  absl::MutexLock lock(&systems.mu);
  UNDERSTUDY_CHECK(systems.all.size() == 1, "a name is resolved on a plain thread, in a process with ",
                   systems.all.size(), " actor systems; give Named its system");
  return *systems.all.front();
}

SystemCore::SystemCore(std::string name, NodeIncarnation incarnation, AddressKey key, Executor& executor, LogSink& log,
                       uint64_t seed)
    : name_(std::move(name)),
      incarnation_(incarnation),
      executor_(executor),
      log_(log),
      seed_(seed),
      dead_letters_(executor.clock(), log) {
  const auto node =
      NodeTable::Intern({.system = this, .name = name_, .incarnation = incarnation_, .is_local = true, .key = key});
  UNDERSTUDY_CHECK(node.ok(), node.status().message());
  node_ = node->index;
}

SystemCore::~SystemCore() {
  lingering_lives_->Close();
  NodeTable::Retire(this);
}

// Checks the cell first: a fence takes its hold before it closes the cell, so a thread that sees the end of the life
// sees the hold too.
bool SystemCore::IsGone(Pid life) {
  if (!IsLocal(life)) return false;
  const ActorCell* const cell = cells_.Find(life.cell());
  return (cell == nullptr || cell->HasEnded(life.life())) && !lingering_lives_->Lingers(life);
}

ExitReason SystemCore::TooManyActors() const {
  return ExitReason::Failed(
      absl::ResourceExhaustedError(absl::StrCat("the system has ", actors_max_, " actors, its actors_max")));
}

absl::Status SystemCore::NoCellError(Pid to) const {
  if (IsRefused(to)) return CalleeExitedError(to.ToString(), TooManyActors());
  return MakeError(ErrorKind::kNoProcess, "there is no such actor");
}

Pid SystemCore::NewPidAt(uint32_t cell) {
  return Pid(node_, cell, last_serial_.fetch_add(1, std::memory_order_relaxed) + 1);
}

uint64_t SystemCore::SeedFor(uint64_t serial) const { return SplitMix64(seed_, serial); }

void SystemCore::AnswerForDead(const Signal& signal) {
  Signal answer{.from = signal.to,
                .to = signal.from,
                .id = signal.id,
                .reason = IsRefused(signal.to) ? TooManyActors() : ExitReason::NoProcess()};
  switch (signal.kind) {
    case SignalKind::kLink:
      answer.kind = SignalKind::kExit;
      answer.is_link = true;
      break;
    case SignalKind::kMonitor:
      answer.kind = SignalKind::kDown;
      break;
    case SignalKind::kUnlink:
      answer.kind = SignalKind::kUnlinkAck;
      break;
    case SignalKind::kReply:
    case SignalKind::kItem:
    case SignalKind::kUploadItem:
      counts_.late_replies.Add();
      return;
    default:
      return;
  }
  Post(std::move(answer));
}

void SystemCore::Post(Signal signal) {
  if (call_watch_ != nullptr && signal.kind == SignalKind::kReply) call_watch_->Forget(signal.to, signal.id);
  if (signal.to.is_null()) {
    if (!signal.from.is_null()) AnswerForDead(signal);
    return;
  }
  if (!IsLocal(signal.to)) {
    if (const NodeEntry* entry = NodeTable::Find(signal.to.place()); entry == nullptr || entry->system != this) {
      AnswerForDead(
          signal);  // the receiver belongs to an ended incarnation, or to another system of this process (see RouterTo)
      return;
    }
    if (Router* out = router(); out != nullptr) {
      out->Post(std::move(signal));
      return;
    }
    if (signal.kind != SignalKind::kLink && signal.kind != SignalKind::kMonitor) return;
    Post(Signal{.kind = signal.kind == SignalKind::kLink ? SignalKind::kExit : SignalKind::kDown,
                .from = signal.to,
                .to = signal.from,
                .id = signal.id,
                .is_link = signal.kind == SignalKind::kLink,
                .reason = ExitReason::NoConnection(kNoNode)});
    return;
  }
  if (const CurrentTurn& turn = ThisTurn(); turn.cell != nullptr && signal.to == turn.self) {
    turn.cell->owner()->DrainSoon();
  }
  ActorCell* cell = cells_.Find(signal.to.cell());
  Envelope* envelope = Envelope::Make(EnvelopeKind::kSignal, TypeOf<Signal>(), /*has_call_part=*/false);
  const uint64_t life = signal.to.life();
  auto* posted = new (envelope->value()) Signal(std::move(signal));
  envelope->SetMade();
  const bool is_kill = posted->kind == SignalKind::kKill;
  const Pushed pushed = cell == nullptr ? Pushed::kClosed : cell->Post(*this, life, envelope);
  if (pushed == Pushed::kClosed) {
    AnswerForDead(*posted);
    DestroyLater(envelope);
  } else if (is_kill) {
    FenceAfter(executor_, limits::kFenceAfterKill, cell, life, /*has_started=*/nullptr);
  }
}

// If several systems share an executor, the timer may run after the life has ended and the system was destroyed. The
// cell's memory still exists then, and refuses the post, because the life has ended; the system is used only after the
// post was accepted.
uint64_t SystemCore::KillAfter(absl::Duration delay, ActorCell& cell, uint64_t life) {
  const Pid actor = Pid::OfLife(life, cell.index());
  return executor_.RunAt(clock().Now() + delay, [this, executor = &executor_, cell = &cell, life, actor] {
    PostOrDrop(*cell, *this, life, MakeEnvelope(EnvelopeKind::kSignal, Signal{.kind = SignalKind::kKill, .to = actor}));
    FenceAfter(*executor, limits::kFenceAfterKill, cell, life, /*has_started=*/nullptr);
  });
}

uint64_t SystemCore::EndStartAfter(absl::Duration delay, ActorCell& cell, uint64_t life) {
  return executor_.RunAt(clock().Now() + delay, [this, executor = &executor_, cell = &cell, life] {
    auto has_started = std::make_shared<std::atomic<bool>>(false);
    PostOrDrop(*cell, *this, life, MakeEnvelope(EnvelopeKind::kOverdue, has_started));
    FenceAfter(*executor, limits::kFenceAfterKill, cell, life, std::move(has_started));
  });
}

void SystemCore::OnDeadLetter(DeadLetter letter) {
  DestructionQueue* const remains = ThisTurn().system == this ? DestructionQueue::Gathering() : nullptr;
  if (remains != nullptr) {
    remains->Add(MakeEnvelope(EnvelopeKind::kDeadLetter, std::move(letter)));
  } else {
    dead_letters_.Publish(letter);
  }
}

void SystemCore::Reply(Pid from, Pid asker, uint64_t ask, absl::Status status) {
  Post({.kind = SignalKind::kReply, .from = from, .to = asker, .id = ask, .status = std::move(status)});
}

void SystemCore::Reply(Pid from, Pid asker, uint64_t ask, Payload answer) {
  Post({.kind = SignalKind::kReply, .from = from, .to = asker, .id = ask, .payload = std::move(answer)});
}

absl::Status NullPidError(Pid to) {
  if (to.is_unnamed()) return UnnamedError(to);
  return MakeError(ErrorKind::kNoProcess, "the channel was never given an actor");
}

void SystemCore::SetTracing(const TracingOptions& options) {
  if (options.spans == nullptr) return;
  // Systems with equal seeds, such as the nodes of a simulated cluster, have different ids.
  tracing_ = std::make_unique<Tracing>(options, clock(), SplitMix64(seed_, Fnv1a(name_)));
}

absl::Status SystemCore::Send(const OutboundMessage& message, TransferMode mode) {
  if (ABSL_PREDICT_TRUE(this_trace == nullptr || tracing_ == nullptr)) return SendPrepared(message, mode);
  SendSpan span(*tracing_, message.from, message.mailbox);
  OutboundMessage traced = message;
  traced.trace = span.part();
  absl::Status sent = SendPrepared(traced, mode);
  span.End(sent.code());
  return sent;
}

absl::Status SystemCore::SendPrepared(const OutboundMessage& message, TransferMode mode) {
  if (message.to.is_null()) return NullPidError(message.to);
  if (IsLocal(message.to)) {
    ActorCell* cell = cells_.Find(message.to.cell());
    if (cell == nullptr) return NoCellError(message.to);
    if (ABSL_PREDICT_FALSE(call_watch_ != nullptr)) {
      const CallWatch::SendScope to(message.to);
      return cell->Accept(*this, message, mode);
    }
    return cell->Accept(*this, message, mode);
  }
  const absl::StatusOr<Router*> out = RouterTo(message.to);
  return out.ok() ? (*out)->Send(message) : out.status();
}

absl::StatusOr<Router*> SystemCore::RouterTo(Pid to) {
  const NodeEntry* entry = NodeTable::Find(to.place());
  if (entry == nullptr) {
    return MakeError(ErrorKind::kNoProcess, absl::StrCat(to.ToString(), " is of an incarnation that is gone"));
  }
  if (entry->system == nullptr) {
    return MakeError(ErrorKind::kNoProcess, absl::StrCat("the actor system of ", to.ToString(), " has ended"));
  }
  if (entry->system != this) {
    return MakeError(ErrorKind::kNoProcess, absl::StrCat(to.ToString(), " belongs to another actor system; ",
                                                         "send to it from there, or through a node"));
  }
  Router* out = router();
  if (out == nullptr) return MakeError(ErrorKind::kNoConnection, kNoNode);
  return out;
}

MessageLedger SystemCore::Ledger() const {
  MessageLedger ledger;
  ledgers_.ForEach(cells_, remote_room_,
                   [&](Pid, const MailboxDeclaration*, const MessageLedger& messages) { ledger += messages; });
  ledger.refused = counts_.refused.value();
  return ledger;
}

std::vector<MailboxLedger> SystemCore::MailboxLedgers() const {
  std::vector<MailboxLedger> ledgers;
  // Several layouts may have the same mailbox; their counts of ended actors are added up.
  std::map<std::pair<std::string, std::string>, MessageLedger> ended;
  ledgers_.ForEach(cells_, remote_room_,
                   [&](Pid actor, const MailboxDeclaration* mailbox, const MessageLedger& messages) {
                     std::string name(mailbox == nullptr ? "" : mailbox->wire_name);
                     std::string type = mailbox == nullptr ? "" : mailbox->request->name();
                     if (actor.is_null()) {
                       ended[{std::move(name), std::move(type)}] += messages;
                     } else {
                       ledgers.push_back(
                           {.actor = actor, .mailbox = std::move(name), .type = std::move(type), .messages = messages});
                     }
                   });
  for (const auto& [mailbox, messages] : ended) {
    ledgers.push_back({.mailbox = mailbox.first, .type = mailbox.second, .messages = messages});
  }
  return ledgers;
}

std::vector<MailboxLedger> SystemCore::MailboxLedgers(Pid actor) const {
  std::vector<MailboxLedger> ledgers = MailboxLedgers();
  ledgers.erase(std::remove_if(ledgers.begin(), ledgers.end(),
                               [&](const MailboxLedger& ledger) { return actor.is_null() || ledger.actor != actor; }),
                ledgers.end());
  return ledgers;
}

}  // namespace internal
}  // namespace understudy

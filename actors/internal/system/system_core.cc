#include "understudy/actors/internal/system/system_core.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/memory/destruction_queue.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/internal/system/late_ends.h"
#include "understudy/actors/internal/system/split_mix.h"
#include "understudy/actors/internal/system/unowned_names.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/node_table.h"

namespace understudy {

namespace internal {
namespace {

constexpr char kNoNode[] = "this system has no Node, so it reaches no other node; start one with Node::Start";

}  // namespace

absl::Status EndedError() { return MakeError(ErrorKind::kNoProcess, "that actor has ended; look its name up again"); }

absl::Status RefusedError() {
  const bool is_fenced = ThisWorker() == nullptr || ThisWorker()->rights != Rights::kLettingGo;
  return MakeError(ErrorKind::kCancelled, is_fenced ? "the actor was killed, and its handler has not returned since"
                                                    : "the actor ends, and its suspended handlers are destroyed");
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

absl::Status SystemCore::NoCellError(Pid to) const {
  if (IsRefused(to)) return CalleeExitedError(to.ToString(), population_.TooManyActors());
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
                .reason = IsRefused(signal.to) ? population_.TooManyActors() : ExitReason::NoProcess()};
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
    FenceAfterKill(*this, *cell, life);
  }
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
  MessageLedger ledger = ledgers_.Sum();
  ledger.refused = counts_.refused.value();
  return ledger;
}

}  // namespace internal
}  // namespace understudy

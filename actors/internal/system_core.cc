#include "understudy/actors/internal/system_core.h"

#include <algorithm>
#include <numeric>
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
#include "understudy/actors/limits.h"

namespace understudy {

absl::string_view FateName(Fate fate) {
  switch (fate) {
    case Fate::kHandled:
      return "handled";
    case Fate::kRejected:
      return "rejected";
    case Fate::kFailed:
      return "failed";
    case Fate::kExpired:
      return "expired";
    case Fate::kCancelled:
      return "cancelled";
    case Fate::kDropped:
      return "dropped";
    case Fate::kDeadLetter:
      return "dead letter";
    case Fate::kPassedOn:
      return "passed on";
  }
  return "?";
}

bool MessageLedger::balances() const { return accepted == std::accumulate(fates.begin(), fates.end(), waiting); }

std::string MessageLedger::ToString() const {
  std::string text = absl::StrCat("accepted ", accepted, " =");
  for (int i = 0; i < kFateCount; ++i) {
    absl::StrAppend(&text, i == 0 ? " " : " + ", FateName(static_cast<Fate>(i)), " ", fates[static_cast<size_t>(i)]);
  }
  absl::StrAppend(&text, " + waiting ", waiting, "; refused ", refused);
  return text;
}

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

}  // namespace

absl::Status EndedError() { return MakeError(ErrorKind::kNoProcess, "that actor has ended; look its name up again"); }

absl::Status FencedError() {
  return MakeError(ErrorKind::kCancelled, "the actor was killed, and its handler has not returned since");
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

SystemCore& SystemOfThisThread() {
  if (SystemCore* system = ThisTurn().system; system != nullptr) return *system;
  Systems& systems = GetSystems();
  absl::MutexLock lock(&systems.mu);
  UNDERSTUDY_CHECK(systems.all.size() == 1, "a name is resolved on a plain thread, in a process with ",
                   systems.all.size(), " actor systems; give Named its system");
  return *systems.all.front();
}

SystemCore::SystemCore(std::string name, NodeIncarnation incarnation, Executor& executor, LogSink& log, uint64_t seed)
    : name_(std::move(name)),
      incarnation_(incarnation),
      executor_(executor),
      log_(log),
      seed_(seed),
      dead_letters_(executor.clock(), log) {
  node_ = NodeTable::Intern({.system = this, .name = name_, .incarnation = incarnation_, .is_local = true});
}

SystemCore::~SystemCore() { NodeTable::Retire(this); }

Pid SystemCore::NewPid(const ActorCell& cell) {
  return Pid(node_, cell.index(), last_serial_.fetch_add(1, std::memory_order_relaxed) + 1);
}

// SplitMix64 (Steele, Lea, Flood 2014) of both.
uint64_t SystemCore::SeedFor(uint64_t serial) const {
  uint64_t z = seed_ + serial * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

void SystemCore::AnswerForDead(const Signal& signal) {
  Signal answer{.from = signal.to, .to = signal.from, .id = signal.id, .reason = ExitReason::NoProcess()};
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
                .reason = ExitReason::NoConnection("this system has no node")});
    return;
  }
  if (signal.to == ThisTurn().self) ThisTurn().drains = true;
  ActorCell* cell = cells_.Find(signal.to.cell());
  Envelope* envelope = Envelope::Make(EnvelopeKind::kSignal, TypeOf<Signal>(), /*has_call_part=*/false);
  const uint64_t life = signal.to.life();
  auto* posted = new (envelope->value()) Signal(std::move(signal));
  envelope->SetMade();
  const bool is_kill = posted->kind == SignalKind::kKill;
  const Pushed pushed = cell == nullptr ? Pushed::kClosed : cell->Post(*this, life, envelope);
  if (pushed == Pushed::kClosed) {
    AnswerForDead(*posted);
    Envelope::Delete(envelope);
  } else if (is_kill && pushed != Pushed::kMustSchedule) {
    FenceAfter(limits::kFenceAfterKill, cell, life);
  }
}

// It runs, or will: if its handler has not returned by then, it is fenced.
void SystemCore::FenceAfter(absl::Duration delay, ActorCell* cell, uint64_t life) {
  (void)executor_.RunAt(clock().Now() + delay, [this, cell, life] {
    if (!cell->IsAlive(life)) return;
    (void)executor_.WhileInUserCode(cell->owner(), [&] {
      if (cell->IsAlive(life)) cell->owner()->Fence();
    });
    if (cell->IsAlive(life)) FenceAfter(limits::kFenceRetry, cell, life);
  });
}

void SystemCore::Reply(Pid from, Pid asker, uint64_t ask, absl::Status status) {
  Post({.kind = SignalKind::kReply, .from = from, .to = asker, .id = ask, .status = std::move(status)});
}

void SystemCore::Reply(Pid from, Pid asker, uint64_t ask, Payload answer) {
  Post({.kind = SignalKind::kReply, .from = from, .to = asker, .id = ask, .payload = std::move(answer)});
}

absl::Status SystemCore::Send(const OutboundMessage& message, Handing handing) {
  if (message.to.is_unnamed()) return MakeError(ErrorKind::kNoName, "no actor has that name now");
  if (message.to.is_null()) return MakeError(ErrorKind::kNoProcess, "the channel was never given an actor");
  if (IsLocal(message.to)) {
    ActorCell* cell = cells_.Find(message.to.cell());
    if (cell == nullptr) return MakeError(ErrorKind::kNoProcess, "there is no such actor");
    if (ABSL_PREDICT_FALSE(call_watch_ != nullptr)) {
      const CallWatch::Handing to(message.to);
      return cell->Accept(*this, message, handing);
    }
    return cell->Accept(*this, message, handing);
  }
  const NodeEntry* entry = NodeTable::Find(message.to.node());
  if (entry == nullptr || entry->system != this) {
    return MakeError(ErrorKind::kNoProcess, absl::StrCat(message.to.ToString(), " belongs to another actor system; ",
                                                         "send to it from there, or through a node"));
  }
  Router* out = router();
  if (out == nullptr) return MakeError(ErrorKind::kNoConnection, "this system has no node");
  return out->Send(message);
}

void SystemCore::AddEnded(const ActorCell::Counts& counts) {
  if (counts.left == 0) return;
  // All that it accepted has left; what its gates count besides is a sender's that is about to take it back.
  ended_accepted_.fetch_add(counts.left, std::memory_order_relaxed);
  ended_handled_.fetch_add(counts.handled, std::memory_order_relaxed);
}

MessageLedger SystemCore::Ledger() const {
  MessageLedger ledger;
  for (size_t i = 0; i < kFateCount; ++i) ledger.fates[i] = fates_[i].load(std::memory_order_relaxed);
  int64_t& handled = ledger.fates[static_cast<size_t>(Fate::kHandled)];
  ledger.accepted = ended_accepted_.load(std::memory_order_relaxed);
  handled += ended_handled_.load(std::memory_order_relaxed);
  ledger.waiting = in_hand_.load(std::memory_order_relaxed);
  for (const ActorCell* cell : cells_.Used()) {
    const ActorCell::Counts counts = cell->counts();
    ledger.accepted += counts.accepted;
    handled += counts.handled;
    ledger.waiting += counts.accepted - counts.left;
  }
  ledger.refused = refused_.load(std::memory_order_relaxed);
  return ledger;
}

}  // namespace internal
}  // namespace understudy

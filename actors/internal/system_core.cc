#include "understudy/actors/internal/system_core.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"

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

CurrentTurn& ThisTurn() {
  static thread_local CurrentTurn turn;
  return turn;
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
      random_(seed),
      dead_letters_(executor.clock(), log) {
  node_ = NodeTable::Intern({.system = this, .name = name_, .incarnation = incarnation_, .is_local = true});
}

SystemCore::~SystemCore() { NodeTable::Retire(this); }

Pid SystemCore::NewPid(const ActorCell& cell) {
  return Pid(node_, cell.index(), last_serial_.fetch_add(1, std::memory_order_relaxed) + 1);
}

uint64_t SystemCore::NewSeed() {
  absl::MutexLock lock(&mu_);
  return random_.Next();
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
  ActorCell* cell = cells_.Find(signal.to.cell());
  Envelope envelope(std::move(signal));
  const uint64_t life = LifeOf(std::get<Signal>(envelope).to);
  if (cell == nullptr || !cell->Post(life, std::move(envelope))) AnswerForDead(std::get<Signal>(envelope));
}

absl::Status SystemCore::Send(const OutboundMessage& message, absl::FunctionRef<Payload()> take) {
  if (message.to.is_unnamed()) return MakeError(ErrorKind::kNoName, "no actor has that name now");
  if (message.to.is_null()) return MakeError(ErrorKind::kNoProcess, "the channel was never given an actor");
  if (!IsLocal(message.to)) {
    const NodeEntry* entry = NodeTable::Find(message.to.node());
    if (entry == nullptr || entry->system != this) {
      return MakeError(ErrorKind::kNoProcess, absl::StrCat(message.to.ToString(), " belongs to another actor system; ",
                                                           "send to it from there, or through a node"));
    }
    Router* out = router();
    if (out == nullptr) return MakeError(ErrorKind::kNoConnection, "this system has no node");
    return out->Send(message);
  }
  ActorCell* cell = cells_.Find(message.to.cell());
  if (cell == nullptr) return MakeError(ErrorKind::kNoProcess, "there is no such actor");
  absl::Status sent = cell->Accept({.life = LifeOf(message.to),
                                    .mailbox = message.mailbox,
                                    .type = message.type,
                                    .is_call = message.ask != 0,
                                    .bytes = message.type->bytes(message.value)},
                                   [&] {
                                     return Message{.from = message.from,
                                                    .to = message.to,
                                                    .mailbox = message.mailbox,
                                                    .ask = message.ask,
                                                    .deadline = message.deadline,
                                                    .payload = take()};
                                   });
  if (IsFull(sent)) OnFull(*cell, message.to, message.ask);
  return sent;
}

MessageLedger SystemCore::Ledger() const {
  MessageLedger ledger;
  for (ActorCell* cell : cells_.Used()) ledger.waiting += cell->Waiting();
  for (size_t i = 0; i < kFateCount; ++i) ledger.fates[i] = fates_[i].load(std::memory_order_relaxed);
  ledger.accepted = accepted_.load(std::memory_order_relaxed);
  ledger.refused = refused_.load(std::memory_order_relaxed);
  return ledger;
}

void SystemCore::OnFull(ActorCell& cell, Pid to, uint64_t ask) {
  if (ask != 0) cell.AskForExpiry(LifeOf(to));
}

}  // namespace internal
}  // namespace understudy

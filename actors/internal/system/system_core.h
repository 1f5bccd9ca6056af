// SystemCore: the part of an actor system that sends, signals and turns use. An
// ActorSystem owns one. Any thread, unless a member says otherwise.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_SYSTEM_CORE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_SYSTEM_CORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/address_key.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/dead_letters.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/asks/call_watch.h"
#include "understudy/actors/internal/memory/look_guard.h"
#include "understudy/actors/internal/memory/slow_path.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/send/blocked_senders.h"
#include "understudy/actors/internal/send/cell_arena.h"
#include "understudy/actors/internal/send/remote_room.h"
#include "understudy/actors/internal/system/caller_table.h"
#include "understudy/actors/internal/system/handler_sketches.h"
#include "understudy/actors/internal/system/ledger_book.h"
#include "understudy/actors/internal/system/lingering_lives.h"
#include "understudy/actors/internal/system/listener_list.h"
#include "understudy/actors/internal/system/message_traces.h"
#include "understudy/actors/internal/system/observation.h"
#include "understudy/actors/internal/system/population.h"
#include "understudy/actors/internal/system/system_counts.h"
#include "understudy/actors/internal/system/tracing.h"
#include "understudy/actors/ledger.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/message.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/router.h"
#include "understudy/actors/spawner.h"
#include "understudy/actors/trace.h"

namespace understudy {

namespace internal {

class ActorCore;

// The error of a send to a pid for which is_null() is true.
absl::Status NullPidError(Pid to);

class SystemCore {
 public:
  // `key` permutes the addresses of this system's actors that other nodes get (AddressKey).
  SystemCore(std::string name, NodeIncarnation incarnation, AddressKey key, Executor& executor, LogSink& log,
             uint64_t seed);
  ~SystemCore();
  SystemCore(const SystemCore&) = delete;
  SystemCore& operator=(const SystemCore&) = delete;

  // The system of the actor with that life. The system exists at least as long as the actor is alive.
  static SystemCore* OfLife(uint64_t life) {
    const NodeEntry* entry = NodeTable::At(static_cast<uint16_t>(life));
    return const_cast<SystemCore*>(static_cast<const SystemCore*>(entry->system));
  }

  const std::string& name() const { return name_; }
  NodeIncarnation incarnation() const { return incarnation_; }
  uint16_t node() const { return node_; }
  Executor& executor() { return executor_; }
  Clock& clock() { return executor_.clock(); }
  LogSink& log() { return log_; }
  HandlerSketches& handler_sketches() { return handler_sketches_; }
  CellArena& cells() { return cells_; }
  BlockedSenders& blocked_senders() { return blocked_senders_; }
  RemoteRoom& remote_room() { return remote_room_; }
  const RemoteRoom& remote_room() const { return remote_room_; }

  bool IsLocal(Pid pid) const { return pid.node() == node_; }
  // The cell of a pid of this system, or null. Its life may have ended.
  ActorCell* CellOf(Pid pid) { return IsLocal(pid) ? cells_.Find(pid.cell()) : nullptr; }
  // A pid for a new life of `cell`.
  Pid NewPid(const ActorCell& cell) { return NewPidAt(cell.index()); }
  // A pid for an actor whose spawn is refused because the population is full. It has no cell.
  Pid NewRefusedPid() { return NewPidAt(CellArena::kNoCell); }
  bool IsRefused(Pid pid) const { return IsLocal(pid) && pid.cell() == CellArena::kNoCell; }
  // True if `pid`, which has this system's node, may have been the pid of an actor
  // here: its cell exists, and its serial was given out.
  bool WasGivenOut(Pid pid) const {
    return (cells_.Find(pid.cell()) != nullptr || IsRefused(pid)) &&
           pid.serial() <= last_serial_.load(std::memory_order_relaxed);
  }

  // Sends a signal to an actor here or on another node. If the actor has ended, the
  // signal is passed to AnswerForDead. Without a router, links and monitors to other
  // nodes are answered with NoConnection, and other signals to them are dropped.
  void Post(Signal signal);
  // Sends a reply, here or to another node, that has no block of its own yet.
  void Reply(Pid from, Pid asker, uint64_t ask, absl::Status status);
  void Reply(Pid from, Pid asker, uint64_t ask, Payload answer);
  // Sends a message to the mailbox that it names, here or on another node. If this thread's code belongs to a trace, so
  // does the message.
  absl::Status Send(const OutboundMessage& message, TransferMode mode);
  // Like Send, with the trace that the message has, or none.
  absl::Status SendPrepared(const OutboundMessage& message, TransferMode mode);

  // The lives that have ended and are not gone yet.
  LingeringLives& lingering_lives() { return *lingering_lives_; }
  // True if that life is gone: it has ended and nothing of it is left. The caller then sees what its destructors wrote.
  // False for an actor of another node.
  bool IsGone(Pid life);
  std::shared_ptr<const void> HoldLife(Pid life) { return LingeringLives::Share(lingering_lives_, life); }

  // The traces of actors' messages.
  MessageTraces& message_traces() { return message_traces_; }

  // For looks at actors that are queued (InspectQueued in actor_crash.h): an actor's turn calls AwaitEnd for its cell.
  LookGuard<>& look_guard() { return look_guard_; }
  // Held by the thread that looks.
  absl::Mutex& look_mu() { return look_mu_; }

  // The gRPC clients for which actors of this system ask.
  CallerTable& callers() { return callers_; }

  LedgerBook& ledgers() { return ledgers_; }
  const LedgerBook& ledgers() const { return ledgers_; }
  SystemCounts& counts() { return counts_; }
  const SystemCounts& counts() const { return counts_; }
  // Returns the counts of all messages of the system, with those that were refused.
  MessageLedger Ledger() const;

  // Publishes the letter to the listeners: at once, or, if called from kernel code of a turn, later in user code.
  void OnDeadLetter(DeadLetter letter);
  DeadLetterStream& dead_letters() { return dead_letters_; }
  const DeadLetterStream& dead_letters() const { return dead_letters_; }

  // The listeners of the actors that leave a CrashReport, with the reason of its end.
  ListenerList<CrashReport, ExitReason>& crash_listeners() { return crash_listeners_; }

  // The release stores of the three Install functions pair with the acquire loads of the functions below them, so a
  // caller sees the installed object as constructed.
  void InstallRouter(Router* router) { router_.store(router, std::memory_order_release); }
  Router* router() { return router_.load(std::memory_order_acquire); }
  // The router for messages to `to`, an actor that is not of this system. NoProcess or
  // NoConnection if there is none.
  absl::StatusOr<Router*> RouterTo(Pid to);
  void InstallSpawner(Spawner* spawner) { spawner_.store(spawner, std::memory_order_release); }
  Spawner* spawner() { return spawner_.load(std::memory_order_acquire); }
  void InstallPublisher(NamePublisher* publisher) { publisher_.store(publisher, std::memory_order_release); }
  NamePublisher* publisher() { return publisher_.load(std::memory_order_acquire); }
  Registry& registry() { return *registry_; }
  void set_registry(Registry* registry) { registry_ = registry; }

  // The seed of the random generator of the actor with that serial. Systems with equal
  // seeds return equal values.
  uint64_t SeedFor(uint64_t serial) const;
  uint64_t NewSeed() { return SeedFor(~last_seed_.fetch_add(1, std::memory_order_relaxed)); }

  // Null unless the system looks for call cycles. Set before actors run.
  CallWatch* call_watch() { return call_watch_.get(); }
  void WatchCalls() { call_watch_ = std::make_unique<CallWatch>(clock(), log_); }

  // Null if the system has no traces. Set before actors run.
  Tracing* tracing() { return tracing_.get(); }
  // Does nothing without TracingOptions::spans.
  void SetTracing(const TracingOptions& options);

  Observation& observation() { return observation_; }
  const Observation& observation() const { return observation_; }
  Population& population() { return population_; }
  const Population& population() const { return population_; }

  // Answers a signal to an actor that has ended: a link or monitor with the reason NoProcess, or with the reason of the
  // refused spawn, and an unlink with an acknowledgement. Counts a reply as late. Drops all other signals.
  void AnswerForDead(const Signal& signal);
  // The error of a send whose receiver has no cell here.
  absl::Status NoCellError(Pid to) const;

 private:
  Pid NewPidAt(uint32_t cell);

  const std::string name_;
  const NodeIncarnation incarnation_;
  Executor& executor_;
  LogSink& log_;
  uint16_t node_;
  CellArena cells_;
  BlockedSenders blocked_senders_{*this};
  RemoteRoom remote_room_{*this};
  std::unique_ptr<CallWatch> call_watch_;  // constant after construction of the system
  std::unique_ptr<Tracing> tracing_;       // likewise
  std::atomic<uint64_t> last_serial_{0};
  std::atomic<Router*> router_{nullptr};
  std::atomic<Spawner*> spawner_{nullptr};
  std::atomic<NamePublisher*> publisher_{nullptr};
  Observation observation_;
  Population population_;
  Registry* registry_ = nullptr;  // constant after construction of the system
  LedgerBook ledgers_{cells_, remote_room_};
  // Shared with LifeHolds, which may outlive the system.
  const std::shared_ptr<LingeringLives> lingering_lives_ = std::make_shared<LingeringLives>(*this);
  SystemCounts counts_;
  const uint64_t seed_;
  std::atomic<uint64_t> last_seed_{0};
  DeadLetterStream dead_letters_;
  ListenerList<CrashReport, ExitReason> crash_listeners_;
  HandlerSketches handler_sketches_;
  CallerTable callers_;
  MessageTraces message_traces_;
  absl::Mutex look_mu_;
  LookGuard<> look_guard_;
};

// NoProcess: the error for an actor that has ended.
absl::Status EndedError();
// Cancelled: the error for calls into the kernel by an actor that was fenced, or by
// its suspended handlers while they are destroyed at its end.
UNDERSTUDY_SLOW_PATH absl::Status RefusedError();

}  // namespace internal
}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_SYSTEM_CORE_H_

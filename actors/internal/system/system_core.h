// SystemCore: what a send, a signal and a turn need of their actor system.
//
// ActorSystem owns one. Any thread, unless a member says otherwise.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_SYSTEM_CORE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_SYSTEM_CORE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/address_key.h"
#include "understudy/actors/dead_letters.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/asks/call_watch.h"
#include "understudy/actors/internal/memory/destruction_queue.h"
#include "understudy/actors/internal/memory/slow_path.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/send/blocked_senders.h"
#include "understudy/actors/internal/send/remote_room.h"
#include "understudy/actors/internal/system/ledger_book.h"
#include "understudy/actors/internal/system/lingering_lives.h"
#include "understudy/actors/ledger.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/router.h"
#include "understudy/actors/spawner.h"

namespace understudy {

namespace internal {

class ActorCore;

// Why nothing can be sent to a pid that is_null().
absl::Status NullPidError(Pid to);

class SystemCore {
 public:
  // `key` is that of the addresses which leave this system.
  SystemCore(std::string name, NodeIncarnation incarnation, AddressKey key, Executor& executor, LogSink& log,
             uint64_t seed);
  ~SystemCore();
  SystemCore(const SystemCore&) = delete;
  SystemCore& operator=(const SystemCore&) = delete;

  // Whose actor has that life. It lives on as long as the actor does.
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
  CellArena& cells() { return cells_; }
  BlockedSenders& blocked_senders() { return blocked_senders_; }
  RemoteRoom& remote_room() { return remote_room_; }
  const RemoteRoom& remote_room() const { return remote_room_; }

  bool IsLocal(Pid pid) const { return pid.node() == node_; }
  // The cell of a pid of this system, or null. Its life may have ended.
  ActorCell* CellOf(Pid pid) { return IsLocal(pid) ? cells_.Find(pid.cell()) : nullptr; }
  // A pid for a new life of `cell`.
  Pid NewPid(const ActorCell& cell) { return NewPidAt(cell.index()); }
  // A pid for an actor whose start is refused because is_full(). It takes no memory.
  Pid NewRefusedPid() { return NewPidAt(CellArena::kNoCell); }
  bool IsRefused(Pid pid) const { return IsLocal(pid) && pid.cell() == CellArena::kNoCell; }
  // A pid of this system may be that of an actor that lives or lived here: its
  // cell is there, and its serial was given out.
  bool WasGivenOut(Pid pid) const {
    return (cells_.Find(pid.cell()) != nullptr || IsRefused(pid)) &&
           pid.serial() <= last_serial_.load(std::memory_order_relaxed);
  }

  // Sends a signal wherever its actor is. To an actor that has ended, link and
  // monitor are answered with NoProcess, and the rest is dropped.
  void Post(Signal signal);
  // The same, wherever a reply goes that has no block of its own.
  void Reply(Pid from, Pid asker, uint64_t ask, absl::Status status);
  void Reply(Pid from, Pid asker, uint64_t ask, Payload answer);
  // Sends by name of the mailbox, here or to another node.
  absl::Status Send(const OutboundMessage& message, TransferMode mode);

  // Lives of which something is left after their end.
  LingeringLives& lingering_lives() { return *lingering_lives_; }
  // Whether that life has ended and nothing of it is left. Whoever is told so sees what its destructors wrote. False
  // for an actor of another node.
  bool IsGone(Pid life);
  std::shared_ptr<const void> HoldLife(Pid life) { return LingeringLives::Share(lingering_lives_, life); }

  LedgerBook& ledgers() { return ledgers_; }
  // Fenced actors whose handlers have not returned.
  void CountFenced(int64_t n) { fenced_.fetch_add(n, std::memory_order_relaxed); }
  int64_t fenced_actors() const { return fenced_.load(std::memory_order_relaxed); }
  void CountRefused() { refused_.fetch_add(1, std::memory_order_relaxed); }
  MessageLedger Ledger() const;
  std::vector<MailboxLedger> MailboxLedgers() const;
  std::vector<MailboxLedger> MailboxLedgers(Pid actor) const;
  // An exit, or a request to stop, that was merged with others that wait.
  void CountMergedExit() { merged_exits_.fetch_add(1, std::memory_order_relaxed); }
  int64_t merged_exits() const { return merged_exits_.load(std::memory_order_relaxed); }
  // An actor that was killed after its parent had told it to end.
  void CountOverdueEnd() { overdue_ends_.fetch_add(1, std::memory_order_relaxed); }
  int64_t overdue_ends() const { return overdue_ends_.load(std::memory_order_relaxed); }
  // A reply that came after its ask's end, and was dropped.
  void CountLateReply() { late_replies_.fetch_add(1, std::memory_order_relaxed); }
  int64_t late_replies() const { return late_replies_.load(std::memory_order_relaxed); }

  // Tells it, now or where that is user code.
  void OnDeadLetter(DeadLetter letter);
  DeadLetterStream& dead_letters() { return dead_letters_; }
  const DeadLetterStream& dead_letters() const { return dead_letters_; }

  void InstallRouter(Router* router) { router_.store(router, std::memory_order_release); }
  Router* router() { return router_.load(std::memory_order_acquire); }
  // The way to an actor that is not of this system; NoProcess or NoConnection
  // when there is none.
  absl::StatusOr<Router*> RouterTo(Pid to);
  void InstallSpawner(Spawner* spawner) { spawner_.store(spawner, std::memory_order_release); }
  Spawner* spawner() { return spawner_.load(std::memory_order_acquire); }
  void InstallPublisher(NamePublisher* publisher) { publisher_.store(publisher, std::memory_order_release); }
  NamePublisher* publisher() { return publisher_.load(std::memory_order_acquire); }
  Registry& registry() { return *registry_; }
  void set_registry(Registry* registry) { registry_ = registry; }

  // For the generator of the actor with that serial; equal seeds of the system
  // give equal ones.
  uint64_t SeedFor(uint64_t serial) const;
  uint64_t NewSeed() { return SeedFor(~last_seed_.fetch_add(1, std::memory_order_relaxed)); }

  // Null unless call cycles are to be found. Set before actors run.
  CallWatch* call_watch() { return call_watch_.get(); }
  void WatchCalls() { call_watch_ = std::make_unique<CallWatch>(clock(), log_); }

  // Told of each step of each actor, one line each. Set before actors run.
  void set_tracer(std::function<void(absl::string_view)> tracer) {
    tracer_ = std::move(tracer);
    is_observed_ = true;
  }
  const std::function<void(absl::string_view)>& tracer() const { return tracer_; }
  // How many messages each actor keeps for a crash report. Set before actors
  // run.
  void set_last_messages(int count) {
    last_messages_ = count;
    is_observed_ = is_observed_ || count > 0;
  }
  int last_messages() const { return last_messages_; }
  void set_actors_max(int64_t count) { actors_max_ = count; }
  // There are as many actors as there may be. Threads that spawn at the same time may exceed that by one each.
  bool is_full() const {
    // relaxed: the count is compared alone.
    return ABSL_PREDICT_FALSE(live_actors.load(std::memory_order_relaxed) >= actors_max_);
  }
  // Why the start of an actor fails that is spawned then.
  ExitReason TooManyActors() const;
  void set_reports_crashes(bool reports) { reports_crashes_ = reports; }
  bool reports_crashes() const { return reports_crashes_; }
  // Handlers are traced, or their messages kept.
  bool is_observed() const { return is_observed_; }

  // Actors that have begun and not ended; 0 lets Shutdown go on.
  std::atomic<int64_t> live_actors{0};
  // Shutdown has begun: actors that nobody would tell to end are ended at once: those
  // that plain threads spawn, unlinked ones, and those that an ending actor spawns.
  std::atomic<bool> is_stopping{false};
  // The time of Shutdown is over: every actor that is spawned is ended at once.
  std::atomic<bool> has_run_out{false};

  // Plain threads that wait until an actor has started.
  std::atomic<int> awaited_starts{0};
  // The start of an actor without a parent has ended so. Of abnormal reasons the last
  // limits::kFailedStartsKeptMax are kept.
  void NoteFailedStart(Pid actor, const ExitReason& reason);
  absl::optional<ExitReason> FindFailedStart(Pid actor) const;

  // Kills that life then, if it has not ended, whatever its handler does. Gives the
  // executor's timer.
  uint64_t KillAfter(absl::Duration delay, ActorCell& cell, uint64_t life);
  // The same: ends it with StartTimeout, if it has not started.
  uint64_t EndStartAfter(absl::Duration delay, ActorCell& cell, uint64_t life);

  // What a signal to an actor that has ended is answered with, if anything. A reply is late.
  void AnswerForDead(const Signal& signal);
  // What a message is answered with whose receiver has no cell here.
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
  std::atomic<uint64_t> last_serial_{0};
  std::atomic<Router*> router_{nullptr};
  std::atomic<Spawner*> spawner_{nullptr};
  std::atomic<NamePublisher*> publisher_{nullptr};
  std::function<void(absl::string_view)> tracer_;
  int last_messages_ = 0;
  bool is_observed_ = false;
  bool reports_crashes_ = true;
  int64_t actors_max_ = limits::kActorsDefaultMax;
  Registry* registry_ = nullptr;  // constant after construction of the system
  LedgerBook ledgers_;
  // Shared with holds that may outlive the system.
  const std::shared_ptr<LingeringLives> lingering_lives_ = std::make_shared<LingeringLives>(*this);
  std::atomic<int64_t> fenced_{0};
  std::atomic<int64_t> refused_{0};
  std::atomic<int64_t> overdue_ends_{0};
  std::atomic<int64_t> late_replies_{0};
  std::atomic<int64_t> merged_exits_{0};
  const uint64_t seed_;
  std::atomic<uint64_t> last_seed_{0};
  DeadLetterStream dead_letters_;
  mutable absl::Mutex failed_starts_mu_;
  std::deque<std::pair<Pid, ExitReason>> failed_starts_ ABSL_GUARDED_BY(failed_starts_mu_);  // oldest first
};

// What is answered for an actor that has ended: NoProcess.
absl::Status EndedError();
// What the calls of an actor that was fenced are answered with, and those of its
// suspended handlers when it ends: Cancelled.
UNDERSTUDY_SLOW_PATH absl::Status RefusedError();

// Messages of another node that have left a mailbox, all by one admission.
struct LeftRemote {
  uint32_t messages = 0;
  NodePlace node;     // of the senders
  uint8_t place = 0;  // of the mailbox
  Admission admission = Admission::kAllowance;
  int64_t bytes = 0;
};

// The turn that runs on this thread.
struct CurrentTurn {
  ActorCore* actor() const;  // inline in actor_core.h

  SystemCore* system = nullptr;
  ActorCell* cell = nullptr;  // null where `system` is
  // The actor's pid and, once they are known, its mailboxes: the cell has these words where its senders write.
  Pid self;
  Gate* gates = nullptr;
  const MailboxLayout* layout = nullptr;
  // Mailboxes of the actor whose room its senders do not know yet.
  uint64_t unpublished = 0;
  // What the router is not told of yet. Then their mailbox is unpublished too.
  LeftRemote left_remote;
  // What its kernel code has let go.
  DestructionQueue remains;
};
// What a thread has outside turns. Nothing writes to it.
inline constinit CurrentTurn no_turn;
// One load, no call: see worker.h.
inline constinit thread_local CurrentTurn* this_turn __attribute__((tls_model("initial-exec"))) = &no_turn;
// Null fields outside turns.
inline CurrentTurn& ThisTurn() { return *this_turn; }

// The system to resolve a name in: that of the turn, else the only one of the
// process; CHECKs when there are several or none.
SystemCore& SystemOfThisThread();
void AddSystem(SystemCore* system);
void RemoveSystem(SystemCore* system);

}  // namespace internal
}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_SYSTEM_CORE_H_

#include "understudy/actors/actor_system.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/address_key.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/asks/call_watch.h"
#include "understudy/actors/internal/system/fatal_signals.h"
#include "understudy/actors/internal/system/local_registry.h"
#include "understudy/actors/internal/system/running_systems.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/internal/system/tracing.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_crash.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/thread_pool.h"

namespace understudy {
namespace {

ActorSystemOptions Completed(ActorSystemOptions options) {
  if (options.seed == 0) options.seed = Random::RandomSeed();
  if (options.log == nullptr) options.log = &LogSink::Stderr();
  return options;
}

ThreadPoolOptions WithLog(ThreadPoolOptions options, LogSink& log) {
  if (options.log == nullptr) options.log = &log;
  return options;
}

internal::LogOrigin OriginOfLogLine(LogFormat format) {
  internal::LogOrigin origin;
  if (const absl::optional<TraceContext> trace = CurrentTrace(); trace.has_value()) {
    origin.trace_id = trace->trace.ToString();
  }
  const internal::CurrentTurn& turn = internal::ThisTurn();
  origin.node = turn.system == nullptr ? internal::NameOfOnlySystem() : turn.system->name();
  if (turn.cell == nullptr) return origin;
  // A fence may end the actor while its handler runs, but not while this is kernel code.
  const internal::KernelCode kernel;
  if (kernel.is_fenced()) {
    origin.actor = turn.self.ToString();
  } else {
    internal::DescribeForLog(*turn.actor(), format, origin);
  }
  return origin;
}

// With a seed, which is for replays, the key is derived from the seed; such a key has too few random bits to be a
// secret. Without one (0) the key is random.
AddressKey KeyFor(uint64_t seed) {
  if (seed == 0) return AddressKey::Random();
  Random random(~seed);
  const uint64_t low = random.Next();
  return {low, random.Next()};
}

bool FindsCallCycles(FindCallCycles when) {
#ifdef NDEBUG
  constexpr bool kIsDebugBuild = false;
#else
  constexpr bool kIsDebugBuild = true;
#endif
  return when == FindCallCycles::kAlways || (when == FindCallCycles::kInDebugBuilds && kIsDebugBuild);
}

// An actor that waits for the end of another actor in place of a plain thread.
class EndWatcher final : public Actor {
 public:
  using Result = internal::OutletEnd<absl::StatusOr<ExitReason>>;
  struct Task {
    Pid target;
    absl::Status late;  // the result if the target is alive at the deadline
  };
  EndWatcher(Task task, MonotonicTime deadline, Result result)
      : task_(std::move(task)), deadline_(deadline), result_(std::move(result)) {}

  StartResult Start() override {
    watch_ = context().Monitor(task_.target, &EndWatcher::Ended);
    return Behavior("watching", After(deadline_ - context().Now(), &EndWatcher::GiveUp));
  }

 private:
  void Ended(const Down& down) {
    result_.Give(down.reason);
    context().Stop();
  }
  void GiveUp() {
    result_.Give(task_.late);
    context().Stop();
  }

  Task task_;
  MonotonicTime deadline_;
  Result result_;
  MonitorHandle watch_;
};

}  // namespace

namespace internal {

SystemCore* CoreOf(ActorSystem& system) { return &system.core(); }

}  // namespace internal

ActorSystem::ActorSystem(ActorSystemOptions options)
    : address_key_(KeyFor(options.seed)),
      options_(Completed(std::move(options))),
      log_(*options_.log, options_.executor == nullptr ? Clock::Real() : options_.executor->clock(), options_.name),
      own_pool_(options_.executor == nullptr ? std::make_unique<ThreadPool>(WithLog(options_.threads, log_)) : nullptr),
      owned_core_(std::make_unique<internal::SystemCore>(
          options_.name, NodeIncarnation{Random(options_.seed).Next()}, address_key_,
          own_pool_ == nullptr ? *options_.executor : *own_pool_, log_, options_.seed)),
      core_(*owned_core_),
      registry_(std::make_unique<LocalRegistry>(core_)),
      mailbox_watch_(std::make_unique<MailboxWatch>(core_, options_.closed_mail_limit)) {
  if (options_.fatal_signal_reports == FatalSignalReports::kYes) ReportFatalSignals();
  core_.set_registry(registry_.get());
  if (FindsCallCycles(options_.call_cycles)) core_.WatchCalls();
  core_.observation().set_last_messages(std::clamp(options_.last_messages, 0, limits::kLastMessagesMax));
  core_.population().set_most(std::clamp<int64_t>(options_.actors_max, 1, limits::kActorsPerSystemMax));
  core_.observation().set_reports_crashes(options_.crash_reports == CrashReports::kYes);
  core_.SetTracing(options_.tracing);
  internal::AddSystem(&core_);
  internal::SetLogOrigin(&OriginOfLogLine);
}

ActorSystem::~ActorSystem() {
  Shutdown(options_.shutdown_within);
  UNDERSTUDY_DCHECK(core_.Ledger().balances(), "messages of ", name(),
                    " have no disposition: ", core_.Ledger().ToString());
  mailbox_watch_ = nullptr;
  internal::RemoveSystem(&core_);
}

MessageLedger ActorSystem::Ledger() const { return core_.Ledger(); }
std::vector<MailboxLedger> ActorSystem::MailboxLedgers() const { return core_.ledgers().ByMailbox(); }
std::vector<MailboxLedger> ActorSystem::MailboxLedgers(Pid actor) const { return core_.ledgers().ByMailbox(actor); }
int64_t ActorSystem::live_actors() const { return core_.population().live.load(std::memory_order_seq_cst); }
int64_t ActorSystem::fenced_actors() const { return core_.counts().fenced.value(); }
int64_t ActorSystem::dead_letters() const { return core_.dead_letters().count(); }
int64_t ActorSystem::late_replies() const { return core_.counts().late_replies.value(); }
int64_t ActorSystem::merged_exits() const { return core_.counts().merged_exits.value(); }
int64_t ActorSystem::call_cycles() { return core_.call_watch() == nullptr ? 0 : core_.call_watch()->cycles(); }
bool ActorSystem::has_traces() { return core_.tracing() != nullptr; }
SpanCounts ActorSystem::span_counts() { return has_traces() ? core_.tracing()->span_counts() : SpanCounts(); }
int64_t ActorSystem::foreign_traces_refused() { return has_traces() ? core_.tracing()->foreign_refused() : 0; }
const std::string& ActorSystem::name() const { return core_.name(); }
NodeIncarnation ActorSystem::incarnation() const { return core_.incarnation(); }
Registry& ActorSystem::registry() { return core_.registry(); }
Executor& ActorSystem::executor() { return core_.executor(); }
Clock& ActorSystem::clock() { return core_.clock(); }
uint64_t ActorSystem::NewSeed() { return core_.NewSeed(); }
uint16_t ActorSystem::node() const { return core_.node(); }
void ActorSystem::SubscribeCallCycles(absl::AnyInvocable<void(const CallCycle&)> listener) {
  if (core_.call_watch() != nullptr) core_.call_watch()->Subscribe(std::move(listener));
}
uint64_t ActorSystem::SubscribeDeadLetters(DeadLetterStream::Listener listener) {
  return core_.dead_letters().Subscribe(std::move(listener));
}
uint64_t ActorSystem::SubscribeDeadLetters(Channel<DeadLetter> channel) {
  return core_.dead_letters().SubscribeWhile(
      [channel](const DeadLetter& letter) { return !IsNoProcess(channel.Send(letter)); });
}
bool ActorSystem::UnsubscribeDeadLetters(uint64_t id) { return core_.dead_letters().Unsubscribe(id); }
uint64_t ActorSystem::SubscribeCrashes(absl::AnyInvocable<void(const CrashReport&, const ExitReason&)> listener) {
  return core_.crash_listeners().Subscribe(
      [listener = std::move(listener)](const CrashReport& crash, const ExitReason& reason) mutable {
        listener(crash, reason);
        return true;
      });
}
bool ActorSystem::UnsubscribeCrashes(uint64_t id) { return core_.crash_listeners().Unsubscribe(id); }
void ActorSystem::TellCrash(const CrashReport& crash, const ExitReason& reason) {
  core_.crash_listeners().Tell(crash, reason);
}
std::vector<ClosedMailbox> ActorSystem::ClosedMailboxes() { return mailbox_watch_->Look(); }
void ActorSystem::ReportFatalSignals() {
  if (fatal_signals_ == nullptr) fatal_signals_ = std::make_unique<internal::FatalSignals>();
}
void ActorSystem::InstallRouter(Router* router) { core_.InstallRouter(router); }
void ActorSystem::InstallSpawner(Spawner* spawner) { core_.InstallSpawner(spawner); }
void ActorSystem::InstallPublisher(NamePublisher* publisher) { core_.InstallPublisher(publisher); }
void ActorSystem::MarkPeersDead(absl::string_view name, absl::optional<NodeIncarnation> alive) {
  internal::NodeTable::MarkDead(&core_, name, alive);
}
void ActorSystem::OnRefusedTell(const DeadLetter& letter) { core_.OnDeadLetter(letter); }
bool ActorSystem::WasGivenOut(Pid pid) const { return core_.WasGivenOut(pid); }
bool ActorSystem::has_router() const { return core_.router() != nullptr; }

// relaxed: no other data depends on it.
bool ActorSystem::is_stopping() const { return core_.population().is_stopping.load(std::memory_order_relaxed); }

internal::Tracing* ActorSystem::tracing() { return core_.tracing(); }

void ActorSystem::SetTracing(const TracingOptions& options) { core_.SetTracing(options); }

internal::CallerTable& ActorSystem::callers() { return core_.callers(); }

bool ActorSystem::IsFull() const { return core_.population().is_full(); }

Pid ActorSystem::SpawnMade(SpawnOptions options, internal::MakeActor make) {
  if (core_.population().is_full()) return core_.NewRefusedPid();
  const Pid pid = internal::ActorCore::Spawn(core_, Pid(), std::move(options), std::move(make));
  absl::MutexLock lock(&mu_);
  // Shutdown sets is_stopping and takes roots_ under the same lock. So either Shutdown finds the new root there, or
  // this load sees is_stopping.
  if (core_.population().is_stopping.load(std::memory_order_relaxed)) {
    Exit(pid, ExitReason::Shutdown());
    return pid;
  }
  if (roots_.size() >= prune_at_) PruneRoots();
  roots_.push_back(pid);
  return pid;
}

void ActorSystem::PruneRoots() {
  roots_.erase(
      std::remove_if(roots_.begin(), roots_.end(), [&](Pid pid) { return !core_.CellOf(pid)->IsAlive(pid.life()); }),
      roots_.end());
  prune_at_ = std::max<size_t>(64, roots_.size() * 2);
}

void ActorSystem::Exit(Pid target, ExitReason reason) {
  core_.Post({.kind = SignalKind::kExit, .to = target, .reason = std::move(reason)});
}
void ActorSystem::Kill(Pid target) { core_.Post({.kind = SignalKind::kKill, .to = target}); }
void ActorSystem::RequestStop(Pid target, ExitReason reason) {
  core_.Post({.kind = SignalKind::kRequestStop, .to = target, .reason = std::move(reason)});
}

void ActorSystem::Suspend(Pid target, absl::Duration time) {
  internal::ActorCell* const cell = core_.CellOf(target);
  if (cell == nullptr) return;
  internal::PostOrDrop(
      *cell, core_, target.life(),
      internal::MakeEnvelope(internal::EnvelopeKind::kSuspend,
                             internal::Suspension{.end = clock().Now() + std::min(time, limits::kSuspensionMax)}));
}
void ActorSystem::Resume(Pid target) { Suspend(target, absl::ZeroDuration()); }

absl::StatusOr<ExitReason> ActorSystem::AwaitEnd(Pid target, absl::Duration timeout) {
  CheckOutsideOfActors("ActorSystem::AwaitEnd blocks its thread; in an actor's turn use context().Monitor");
  const absl::Status late = MakeError(
      ErrorKind::kExpired, absl::StrCat(target.ToString(), " has not ended within ", absl::FormatDuration(timeout)));
  absl::StatusOr<ExitReason> reason =
      AwaitByActor<EndWatcher>(EndWatcher::Task{.target = target, .late = late}, timeout, late, StoppedError());
  // The target may have ended although the watcher did not report it in time, for example because all workers are busy.
  const internal::ActorCell* const cell = core_.CellOf(target);
  if (IsExpired(reason.status()) && cell != nullptr && !cell->IsAlive(target.life())) return ExitReason::NoProcess();
  return reason;
}

absl::Status ActorSystem::AwaitStart(Pid target, absl::Duration timeout) {
  CheckOutsideOfActors(
      "ActorSystem::AwaitStart blocks its thread; in an actor's turn be its parent (SpawnOptions::OnOutcome)");
  const internal::ActorCell* const cell = core_.CellOf(target);
  if (cell == nullptr) {
    if (core_.IsRefused(target)) return core_.NoCellError(target);
    return absl::InvalidArgumentError(absl::StrCat(target.ToString(), " is not an actor of the system ", name()));
  }
  bool has_started = false;
  // seq_cst: with the loads in BlockUntil this pairs with FinishStart, which stores that the actor has started and
  // then loads awaited_starts. Either FinishStart sees the increment and notifies, or HasStarted sees that store.
  core_.population().awaited_starts.fetch_add(1, std::memory_order_seq_cst);
  const bool is_over = executor().BlockUntil(
      [&] { return (has_started = cell->HasStarted(target.life())) || !cell->IsAlive(target.life()); },
      clock().Now() + timeout);
  core_.population().awaited_starts.fetch_sub(1, std::memory_order_relaxed);
  if (has_started) return absl::OkStatus();
  if (!is_over) {
    return MakeError(ErrorKind::kExpired,
                     absl::StrCat(target.ToString(), " has not started within ", absl::FormatDuration(timeout)));
  }
  const absl::optional<ExitReason> failed = core_.population().failed_starts().Find(target);
  return failed.has_value() ? CalleeExitedError(target.ToString(), *failed) : internal::EndedError();
}

void ActorSystem::CheckOutsideOfActors(absl::string_view message) {
  UNDERSTUDY_CHECK(internal::ThisTurn().cell == nullptr, message);
}

absl::Status ActorSystem::StoppedError() { return MakeError(ErrorKind::kCancelled, "the system stopped meanwhile"); }

Pid ActorSystem::SpawnWaiter(internal::MakeActor make) {
  {
    absl::MutexLock lock(&waiters_mu_);
    if (are_waiters_over_) return Pid();
  }
  const Pid pid = internal::ActorCore::Spawn(core_, Pid(), SpawnOptions(), std::move(make));
  bool is_over = false;
  {
    absl::MutexLock lock(&waiters_mu_);
    is_over = are_waiters_over_;
    if (waiters_.size() >= prune_waiters_at_) {
      PruneWaiters();
      prune_waiters_at_ = std::max<size_t>(64, waiters_.size() * 2);
    }
    if (!is_over) waiters_.push_back(pid);
  }
  if (is_over) Exit(pid, ExitReason::Shutdown());
  // Shutdown's OnlyWaitersAreLeft may have run before the actor had its entry in waiters_, and have taken it for an
  // actor that is not a waiter. waiters_mu_ orders that call before this load, which then sees is_stopping: notify,
  // so that Shutdown looks again.
  if (core_.population().is_stopping.load(std::memory_order_relaxed)) executor().Notify();
  return pid;
}

void ActorSystem::PruneWaiters() {
  waiters_.erase(std::remove_if(waiters_.begin(), waiters_.end(),
                                [&](Pid pid) { return !core_.CellOf(pid)->IsAlive(pid.life()); }),
                 waiters_.end());
}

// Every actor with an entry in waiters_ had begun before Population::live is loaded; if it is still alive after the
// load, the load counted it. So if at least as many entries are alive after the load as it counted, it counted only
// waiters.
bool ActorSystem::OnlyWaitersAreLeft() {
  absl::MutexLock lock(&waiters_mu_);
  const int64_t live = live_actors();
  if (live > std::ssize(waiters_)) return false;
  PruneWaiters();
  return live <= std::ssize(waiters_);
}

bool ActorSystem::AreWaitersIdle() {
  absl::MutexLock lock(&waiters_mu_);
  return std::all_of(waiters_.begin(), waiters_.end(), [&](Pid pid) {
    const internal::ActorCell& cell = *core_.CellOf(pid);
    return !cell.IsAlive(pid.life()) || cell.IsIdle();
  });
}

void ActorSystem::EndWaiters() {
  std::vector<Pid> waiters;
  {
    absl::MutexLock lock(&waiters_mu_);
    are_waiters_over_ = true;
    waiters.swap(waiters_);
  }
  for (const Pid waiter : waiters) Exit(waiter, ExitReason::Shutdown());
}

bool ActorSystem::AwaitEmpty(MonotonicTime deadline) {
  return executor().BlockUntil([&] { return live_actors() == 0; }, deadline);
}

void ActorSystem::PostToAll(SignalKind kind) {
  for (internal::ActorCell* cell : core_.cells().Used()) {
    const uint64_t life = cell->life();
    if (life == 0) continue;
    Signal signal{.kind = kind, .to = Pid(core_.node(), cell->index(), life >> 16)};
    if (kind == SignalKind::kExit) signal.reason = ExitReason::Shutdown();
    core_.Post(std::move(signal));
  }
}

bool ActorSystem::Shutdown(absl::Duration within) {
  if (internal::ThisTurn().cell != nullptr) {
    const internal::SystemCore& turns = *internal::ThisTurn().system;
    UNDERSTUDY_CHECK(&turns != &core_, "an actor cannot shut its own system down and wait");
    UNDERSTUDY_CHECK(false, "a handler of system ", turns.name(), " shuts down or destroys the system ", name(),
                     ", and would wait for its end; do that on a plain thread");
  }
  const int64_t overdue_before = core_.counts().overdue_ends.value();
  std::vector<Pid> roots;
  {
    absl::MutexLock lock(&mu_);
    core_.population().is_stopping.store(true, std::memory_order_relaxed);
    roots.swap(roots_);
  }
  for (auto root = roots.rbegin(); root != roots.rend(); ++root) Exit(*root, ExitReason::Shutdown());
  const MonotonicTime deadline = clock().Now() + within;
  (void)executor().BlockUntil([this] { return OnlyWaitersAreLeft(); }, deadline);
  // An exit would overtake an answer that has arrived at a waiter, so let waiters take their answers first. This polls,
  // because an actor that becomes idle does not notify the executor.
  while (!AreWaitersIdle() && clock().Now() < deadline) {
    (void)executor().BlockUntil([this] { return AreWaitersIdle(); },
                                std::min(deadline, clock().Now() + absl::Milliseconds(5)));
  }
  EndWaiters();
  if (AwaitEmpty(deadline)) return core_.counts().overdue_ends.value() == overdue_before;
  // Without this, actors could spawn new ones faster than they are killed.
  core_.population().has_run_out.store(true, std::memory_order_relaxed);
  while (live_actors() > 0) {
    PostToAll(SignalKind::kKill);
    if (AwaitEmpty(clock().Now() + absl::Seconds(5))) break;
    log().Write(LogSeverity::kError, absl::StrCat(live_actors(), " actors of ", name(),
                                                  " have not ended: a handler of theirs does not return"));
  }
  return false;
}

absl::StatusOr<NodePlace> ActorSystem::InternPeer(absl::string_view name, NodeIncarnation incarnation) {
  return internal::NodeTable::Intern({.system = &core_, .name = std::string(name), .incarnation = incarnation});
}

absl::Status ActorSystem::Deliver(internal::Message message) {
  internal::ActorCell* cell = core_.CellOf(message.to);
  if (cell == nullptr) return core_.NoCellError(message.to);
  absl::Status accepted = cell->AcceptRemote(core_, std::move(message));
  if (!accepted.ok()) core_.counts().refused.Add();
  return accepted;
}

void ActorSystem::Deliver(Signal signal) { core_.Post(std::move(signal)); }

ReservedRoom ActorSystem::Reserve(const RoomRequest& request) {
  internal::ActorCell* const cell = core_.CellOf(request.to);
  return cell == nullptr ? ReservedRoom() : core_.remote_room().Reserve(*cell, request);
}

void ActorSystem::GiveBack(const RoomRequest& request) {
  internal::ActorCell* const cell = core_.CellOf(request.to);
  if (cell != nullptr) core_.remote_room().GiveBack(*cell, request);
}

void ActorSystem::WaitForRoom(const RoomWait& wait) {
  if (internal::ActorCell* const cell = core_.CellOf(wait.room.to); cell != nullptr) {
    core_.blocked_senders().Add(*cell, wait);
  } else if (Router* const router = core_.router(); router != nullptr) {
    router->EndWait(wait, core_.NoCellError(wait.room.to));
  }
}

void ActorSystem::StopWaiting(const RoomWait& wait) { core_.blocked_senders().Remove(wait); }

absl::optional<Pid> ActorSystem::FindPid(absl::string_view name) {
  const absl::optional<NameRecord> record = registry().Find(name);
  if (!record) return absl::nullopt;
  return record->pid;
}

}  // namespace understudy

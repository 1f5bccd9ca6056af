// ActorSystem: the actors of one process, with their threads and names.
//
//   ActorSystem system;
//   AuctionRef lot = system.Spawn<EnglishAuction>(book, closes);
//   absl::StatusOr<OfferResult> result = system.Ask(lot.make_offer(), offer, absl::Seconds(1));
//
// A system works without a Node; a Node adopts a system and joins it with the systems
// of other nodes. A process may hold several systems; their actors reach each other only
// through nodes.
//
// Threads: any plain thread. In an actor's turn use context() instead; Ask, Lookup,
// AwaitEnd, AwaitStart and Shutdown CHECK there. Lifetime: the destructor ends all actors,
// as Shutdown does, and waits for them.
#ifndef UNDERSTUDY_ACTORS_ACTOR_SYSTEM_H_
#define UNDERSTUDY_ACTORS_ACTOR_SYSTEM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/address_key.h"
#include "understudy/actors/ask_handle.h"
#include "understudy/actors/call_cycle.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/dead_letters.h"
#include "understudy/actors/error.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/asks/callback_ask.h"
#include "understudy/actors/internal/asks/thread_waiter.h"
#include "understudy/actors/internal/system/caller_table.h"
#include "understudy/actors/internal/system/mailbox_watch.h"
#include "understudy/actors/internal/system/system_log.h"
#include "understudy/actors/internal/turn/actor_tracing.h"
#include "understudy/actors/ledger.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/router.h"
#include "understudy/actors/thread_pool_options.h"
#include "understudy/actors/trace.h"

namespace understudy {

struct Caller;
class ThreadPool;

namespace internal {

class FatalSignals;
class SystemCore;
class Tracing;

}  // namespace internal

// Selects the builds in which the system finds and reports call cycles: actors that wait for each other's answers in a
// circle (call_cycle.h). The search takes a lock and some time for each ask, and does not change what the actors do.
enum class FindCallCycles { kInDebugBuilds, kAlways, kNever };

// Whether an actor that ends abnormally of its own accord, rather than because of an exit
// or kill from elsewhere, leaves a CrashReport on its exit reason and in the log.
enum class CrashReports { kYes, kNo };

// Whether the first SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT of the process writes one line to standard error before
// the signal takes its usual effect. The line says which actor's handler ran on that thread (pid, class, label or
// name), for which mailbox and type of message, and the program's build id. A signal handler that was installed before,
// such as a sanitizer's, is called next with the same signal.
//
// A stack overflow writes its line only on threads with an alternate signal stack. Executors and systems give one to
// the threads that they make: workers, actors' own threads, timers and watchdogs. On main, gRPC's threads and other
// threads of a node or the program, a stack overflow ends the process without a line, unless the program gave the
// thread such a stack.
enum class FatalSignalReports { kYes, kNo };

struct ActorSystemOptions {
  // The name of the system, and of the node when a Node adopts the system: a DNS label.
  std::string name = "local";
  // Must outlive the system. If null, the system makes a ThreadPool with the options `threads`.
  Executor* executor = nullptr;
  ThreadPoolOptions threads;
  // The seed of everything random in the system, including its incarnation and the key of its addresses. If 0, the
  // operating system's generator is used.
  uint64_t seed = 0;
  // Must outlive the system. If null, LogSink::Stderr(). LogSink says which lines the system leaves out.
  LogSink* log = nullptr;
  // The log names each mailbox that has been closed, with messages in it, for longer than this; if this is not above
  // zero, each that is so at a periodic look. Use InfiniteDuration with virtual time, which would otherwise advance for
  // ever, from one look to the next.
  absl::Duration closed_mail_limit = absl::Minutes(1);
  // The `within` of the Shutdown that the destructor calls. If this is not above zero, the actors are killed at once.
  absl::Duration shutdown_within = absl::Seconds(5);
  FindCallCycles call_cycles = FindCallCycles::kInDebugBuilds;
  // The number of messages, from 0 to limits::kLastMessagesMax, that each actor keeps a note of for its CrashReport.
  // If 0, a report has the message whose handler ran, those before it that are among the last 64 of its worker, and no
  // contents, and messages cost nothing extra. Otherwise each message costs a few hundred nanoseconds more. Values
  // outside the range are clamped.
  int last_messages = 0;
  CrashReports crash_reports = CrashReports::kYes;
  // Applies to the whole process while the system exists. See also NodeOptions::fatal_signal_reports.
  FatalSignalReports fatal_signal_reports = FatalSignalReports::kNo;
  // The most actors that may be alive at once, so that actors which spawn without end do not exhaust memory. Beyond it
  // Spawn returns a pid whose start has failed with ResourceExhausted, as spawn outcomes, monitors and asks report. 1
  // to limits::kActorsPerSystemMax; values outside that range are clamped.
  int64_t actors_max = limits::kActorsDefaultMax;
  // Which work is traced, and where its spans go (trace.h). Without `spans` the system traces nothing.
  TracingOptions tracing;
};

class ActorSystem : public Inbound, public SpawnsActors<ActorSystem> {
 public:
  explicit ActorSystem(ActorSystemOptions options = {});
  // Calls Shutdown(shutdown_within). While the destructor runs, no plain thread may use the
  // system, nor a channel, Replier or unhandled mail of it.
  ~ActorSystem() override;
  ActorSystem(const ActorSystem&) = delete;
  ActorSystem& operator=(const ActorSystem&) = delete;

  // Starts an actor without a parent that `make` constructs; the overloads of Spawn
  // (actor_spec.h) call this. It returns at once and never fails. If the actor's start
  // fails, monitors and asks report that.
  Pid SpawnMade(SpawnOptions options, internal::MakeActor make);

  // Asks, and blocks this plain thread until the answer comes, for at most `timeout`. Errors: those of Channel::Ask;
  // Cancelled if Shutdown waits for answers no longer (see there). CHECKs in an actor's turn and in a callback of an
  // ask.
  template <class Q, class R>
  absl::StatusOr<R> Ask(const Channel<Call<Q, R>>& channel, std::type_identity_t<Q> request, absl::Duration timeout);

  // Asks without blocking: `callback` is called exactly once, with the answer or with the error that the blocking Ask
  // would return. It may be called before this function returns.
  // - The callback runs on a worker, outside any actor's turn; messages that it sends have no sender. It may start
  //   another ask of this kind. It must not block, because it occupies the worker until it returns; if it does, the
  //   watchdog names it in the log like a handler that does not return.
  // - An exception that leaves the callback ends the process.
  // - The ask ends when its callback has returned. Shutdown waits for that, so the callback runs before the system is
  //   destroyed. Once Shutdown waits for answers no longer (its steps 2 and 3), the outcome is Cancelled, also of asks
  //   that are started later; a callback that then always asks again keeps Shutdown from returning.
  // - Each ask of this kind that waits for its answer counts as an actor. If the system has actors_max actors already,
  //   the outcome is Full.
  // Threads: any plain thread, including one that runs a callback. CHECKs in an actor's turn.
  template <class Q, class R>
  AskHandle Ask(const Channel<Call<Q, R>>& channel, std::type_identity_t<Q> request, absl::Duration timeout,
                std::type_identity_t<absl::AnyInvocable<void(absl::StatusOr<R>) &&>> callback);

  // For a gateway: like Ask with a callback, where `caller` is the client that the callee is told of (caller.h).
  template <class Q, class R>
  AskHandle AskFor(std::shared_ptr<const Caller> caller, const Channel<Call<Q, R>>& channel,
                   std::type_identity_t<Q> request, absl::Duration timeout,
                   std::type_identity_t<absl::AnyInvocable<void(absl::StatusOr<R>) &&>> callback);

  // Blocks this plain thread until an actor has the name, for at most `timeout`, and returns a ref to that actor.
  // Errors: those of Context::Lookup; Cancelled if Shutdown ends the wait. CHECKs in an actor's turn.
  template <class R>
  absl::StatusOr<R> Lookup(absl::string_view name, absl::Duration timeout);

  // Like the functions of Context, for a plain thread. To an actor without a parent, Exit
  // from here is its parent's exit.
  void Exit(Pid target, ExitReason reason);
  void Kill(Pid target);
  void RequestStop(Pid target, ExitReason reason = ExitReason::Shutdown());
  // Keeps all mailboxes of `target`, an actor of this system, closed for `time`, as a ScopedClose does: events, timers
  // and signals act as always, a handler that has begun goes on, and messages are accepted until a mailbox is full. A
  // later call counts from its own time on; Resume ends the suspension, and so does the actor's end. Has no effect
  // before a handler that runs has returned. At most limits::kSuspensionMax.
  void Suspend(Pid target, absl::Duration time);
  void Resume(Pid target);
  // Returns the current owner of a name: of a name of this node, or of the cluster as far
  // as this node knows. Returns nothing if the name is free.
  absl::optional<Pid> WhereIs(absl::string_view name) { return FindPid(name); }
  // Blocks until `target` has ended, for at most `timeout`, and returns its exit reason, or
  // the reason NoProcess if it had ended before the call. Errors: Expired if `target` is
  // still alive; Cancelled if Shutdown ends the wait. CHECKs in an actor's turn.
  absl::StatusOr<ExitReason> AwaitEnd(Pid target, absl::Duration timeout);

  // Blocks until `target`, an actor of this system, has started, for at most `timeout`. A supervisor has started when
  // all children of its tree have. CHECKs in an actor's turn. Errors:
  // - CalleeExited with the exit reason (ExitReasonOf): the start of `target` failed, perhaps before this call. The
  //   system remembers the last limits::kFailedStartsKeptMax such starts of actors without a parent, and as many of
  //   actors with one.
  // - NoProcess: `target` declined to start, or ended in another way, or its failed start is not remembered any more.
  // - Expired: `target` is still starting. InvalidArgument: `target` is not an actor of this system.
  absl::Status AwaitStart(Pid target, absl::Duration timeout);

  // Ends all actors, in this order:
  //  1. Actors without parents get an exit with reason Shutdown; supervisors among them end
  //     their children in order. An actor that is not ending may still spawn linked children.
  //     New actors that a plain thread or an ending actor spawns, and unlinked children, are
  //     ended at once. Asks, lookups and AwaitEnd of plain threads, and asks with callbacks,
  //     continue and may still be started; each returns when its callee answers or ends.
  //  2. When all actors have ended, the calls that are left wait for actors on other nodes.
  //     They and all later calls are answered with Cancelled.
  //  3. After `within` the actors that are left are killed, and every newly spawned actor is
  //     ended at once.
  // Returns when no actor is left. Returns false if an actor was killed because it exceeded
  // `within`, its own shutdown_within or its supervisor's limit, or if the callback of an Ask
  // was still running after `within`. CHECKs in an actor's turn.
  bool Shutdown(absl::Duration within);

  // Returns the counts of all messages of this system. The ledger balances whenever no turn
  // runs.
  MessageLedger Ledger() const;
  // Returns one ledger for each mailbox that has accepted a message: first those of living
  // actors, actor by actor, then those of ended actors, with the mailboxes of one name and
  // type in one ledger. Each balances whenever no turn runs. Their sum is Ledger(), except
  // for refused messages, which are counted only there.
  std::vector<MailboxLedger> MailboxLedgers() const;
  // Returns the ledgers of one actor's mailboxes; empty if the actor has ended.
  std::vector<MailboxLedger> MailboxLedgers(Pid actor) const;

  // Gauges: the number of actors that were spawned and have not ended, and how many of them are fenced. For these
  // gauges a fenced actor ends when its handler returns.
  int64_t live_actors() const;
  int64_t fenced_actors() const;
  // Counts since the system was made: dead letters, which include refused tells; replies
  // that were dropped because their asker no longer waited; exits to trapping actors and
  // requests to stop that were merged (ExitEvent::merged, StopRequest::merged).
  int64_t dead_letters() const;
  int64_t late_replies() const;
  int64_t merged_exits() const;
  // The number of call cycles found so far. 0 if the system does not look for them
  // (ActorSystemOptions::call_cycles).
  int64_t call_cycles();
  // `listener` is called for each call cycle that is found from now on, after the log line,
  // on the thread that closed the cycle. It must not wait or send. Does nothing if the system
  // does not look for call cycles.
  void SubscribeCallCycles(absl::AnyInvocable<void(const CallCycle&)> listener);
  // `listener` is called for each dead letter from now on; DeadLetterStream says on which
  // thread, and what it may do. Returns an id for UnsubscribeDeadLetters.
  uint64_t SubscribeDeadLetters(DeadLetterStream::Listener listener);
  // Sends each dead letter from now on to `channel`, until its actor has ended. A letter that
  // comes while the mailbox is full is not sent. Returns an id for UnsubscribeDeadLetters.
  uint64_t SubscribeDeadLetters(Channel<DeadLetter> channel);
  // Ends the subscription; a listener is not running when this returns. Returns false if
  // there is none with that id.
  bool UnsubscribeDeadLetters(uint64_t id);
  // `listener` is called for each actor from now on that leaves a CrashReport, with the reason of its end, and for each
  // that TellCrash tells of. It runs on the thread that ends the actor, before OnExit. It must not wait, throw,
  // subscribe or unsubscribe; it may send. Returns an id for UnsubscribeCrashes.
  uint64_t SubscribeCrashes(absl::AnyInvocable<void(const CrashReport&, const ExitReason&)> listener);
  // Ends the subscription; a listener is not running when this returns. Returns false if there is none with that id.
  bool UnsubscribeCrashes(uint64_t id);
  // Tells the listeners that an actor of another system has crashed. A node does so for its process children, whose own
  // listeners end with them. Any thread.
  void TellCrash(const CrashReport& crash, const ExitReason& reason);
  // Looks now for mailboxes that are closed and have messages waiting. Returns them with the
  // time for which they have been closed.
  std::vector<ClosedMailbox> ClosedMailboxes();
  // Whether it has traces (ActorSystemOptions::tracing).
  bool has_traces();
  // The numbers of exported and dropped spans (SpanSink::counts) of all systems that share TracingOptions::spans.
  SpanCounts span_counts();
  // Messages of other nodes and gRPC clients whose sampled flag did not count (TracingOptions::foreign_per_second).
  int64_t foreign_traces_refused();
  const std::string& name() const;
  NodeIncarnation incarnation() const;
  Registry& registry();
  Executor& executor();
  Clock& clock();
  LogSink& log() { return log_; }
  // The least severe lines that the log has; nullopt if it has none.
  absl::optional<LogSeverity> log_level() const { return log_.level(); }
  // From now on the log has the lines that are at least as severe as `least`. FailedPrecondition: the sink discards
  // lines of this severity, and has no LogSink::AtLevel; the level is as before.
  absl::Status SetLogLevel(LogSeverity least) { return log_.SetLevel(least); }
  LogCounts log_counts() const { return log_.counts(); }
  // Returns a seed, derived from the system's, for a random generator of the caller.
  uint64_t NewSeed();

  // For a transport: turns on fatal signal reports, as FatalSignalReports::kYes does, until this system is destroyed.
  void ReportFatalSignals();
  // For a transport: installs the object through which this system reaches other nodes. Null
  // uninstalls it. The object must stay alive while any thread of this system may use it.
  void InstallRouter(Router* router);
  void InstallSpawner(Spawner* spawner);
  void InstallPublisher(NamePublisher* publisher);
  bool has_router() const;
  // For functions that block their thread: CHECKs, with `message`, that the thread runs no actor's turn.
  static void CheckOutsideOfActors(absl::string_view message);
  // For a transport: whether Shutdown has begun. A Shutdown that has just begun may be seen at the next call.
  bool is_stopping() const;
  // For a transport: the traces of this system; null if it has none.
  internal::Tracing* tracing();
  // For tests: gives a system that has no traces the traces of `options`. Call before actors run.
  void SetTracing(const TracingOptions& options);
  // For a transport: the table of the clients for which actors ask (AskFor).
  internal::CallerTable& callers();
  // For a transport: returns the place in NodeTable under which this system knows that
  // incarnation of a peer. ResourceExhausted if the table is full.
  absl::StatusOr<NodePlace> InternPeer(absl::string_view name, NodeIncarnation incarnation);
  // For a transport: marks dead all incarnations of the peer `name` that were given to
  // InternPeer, except `alive`, so that their places may be given to others. See
  // NodeTable::MarkDead.
  void MarkPeersDead(absl::string_view name, absl::optional<NodeIncarnation> alive);
  // The index of this system in NodeTable, which the pids of its actors have.
  uint16_t node() const;

  // Overrides of Inbound (router.h).
  absl::Status Deliver(internal::Message message) override;
  void Deliver(Signal signal) override;
  void OnRefusedTell(const DeadLetter& letter) override;
  bool WasGivenOut(Pid pid) const override;
  ReservedRoom Reserve(const RoomRequest& request) override;
  void GiveBack(const RoomRequest& request) override;
  void WaitForRoom(const RoomWait& wait) override;
  void StopWaiting(const RoomWait& wait) override;

  internal::SystemCore& core() { return core_; }

 private:
  absl::optional<Pid> FindPid(absl::string_view name);
  // Removes the actors that have ended from roots_.
  void PruneRoots() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Blocks this plain thread until a Waiter, an actor that is made of `first`, the deadline and an OutletEnd, gives a
  // value. Returns `late` if it gave none in time, and `closed` if it never will.
  template <class Waiter, class First>
  typename Waiter::Result::Value AwaitByActor(First first, absl::Duration timeout, absl::Status late,
                                              absl::Status closed);
  // Spawns an actor that awaits, for `callback`, the answer to the Pending that `ask` returns.
  template <class R, class Begin>
  AskHandle AskByWaiter(Pid callee, Begin ask, absl::Duration timeout,
                        absl::AnyInvocable<void(absl::StatusOr<R>) &&> callback);
  // Spawns a Waiter, an actor that waits in place of a plain thread or a callback. Once the system has ended its
  // waiters (EndWaiters), drops `end` instead, so that its outlet gets the error that `end` carries, and returns a
  // null pid.
  template <class Waiter, class First>
  Pid StartWaiter(First first, MonotonicTime deadline, typename Waiter::Result end);
  Pid SpawnWaiter(internal::MakeActor make);
  static absl::Status StoppedError();
  void PruneWaiters() ABSL_EXCLUSIVE_LOCKS_REQUIRED(waiters_mu_);
  // True if every live actor is a waiter.
  bool OnlyWaitersAreLeft();
  // True if no waiter has anything to do, such as to take an answer that has arrived.
  bool AreWaitersIdle();
  // Ends the waiters that are left. From then on no others are started.
  void EndWaiters();
  // Blocks until no actor is left; returns false if some are left at `deadline`.
  bool AwaitEmpty(MonotonicTime deadline);
  // Sends a signal, an exit with reason Shutdown if it is an exit, to every live actor.
  void PostToAll(SignalKind kind);

  // True if the system has as many actors as it may have.
  bool IsFull() const;

  const AddressKey address_key_;
  const ActorSystemOptions options_;
  std::unique_ptr<internal::FatalSignals> fatal_signals_;  // null unless this system reports fatal signals
  internal::SystemLog log_;
  const std::unique_ptr<ThreadPool> own_pool_;  // null if options_.executor is given
  // A pointer, because with the kernel's header a program that only spawns and asks would compile a quarter more.
  const std::unique_ptr<internal::SystemCore> owned_core_;
  internal::SystemCore& core_;
  const std::unique_ptr<Registry> registry_;
  std::unique_ptr<MailboxWatch> mailbox_watch_;
  absl::Mutex mu_;
  std::vector<Pid> roots_ ABSL_GUARDED_BY(mu_);  // the actors without parents, of which some may have ended
  size_t prune_at_ ABSL_GUARDED_BY(mu_) = 64;
  // While this lock is held nothing is called that may take a lock of the executor, because the executor may hold
  // such a lock when it calls OnlyWaitersAreLeft.
  absl::Mutex waiters_mu_;
  std::vector<Pid> waiters_ ABSL_GUARDED_BY(waiters_mu_);  // some may have ended
  size_t prune_waiters_at_ ABSL_GUARDED_BY(waiters_mu_) = 64;
  bool are_waiters_over_ ABSL_GUARDED_BY(waiters_mu_) = false;
};

template <class Waiter, class First>
Pid ActorSystem::StartWaiter(First first, MonotonicTime deadline, typename Waiter::Result end) {
  return SpawnWaiter([first = std::move(first), deadline, end = std::move(end)]() mutable -> std::unique_ptr<Actor> {
    return std::make_unique<Waiter>(std::move(first), deadline, std::move(end));
  });
}

template <class Waiter, class First>
typename Waiter::Result::Value ActorSystem::AwaitByActor(First first, absl::Duration timeout, absl::Status late,
                                                         absl::Status closed) {
  auto handover = std::make_shared<internal::Handover<typename Waiter::Result::Value>>(executor());
  const MonotonicTime deadline = clock().Now() + timeout;
  StartWaiter<Waiter>(std::move(first), deadline, typename Waiter::Result(handover, closed));
  return handover->Await(deadline, std::move(late), std::move(closed));
}

template <class Q, class R>
absl::StatusOr<R> ActorSystem::Ask(const Channel<Call<Q, R>>& channel, std::type_identity_t<Q> request,
                                   absl::Duration timeout) {
  static_assert(!internal::MessageTraits<Call<Q, R>>::kIsStream, "a stream is read by an actor: Channel::Ask");
  static_assert(!internal::MessageTraits<Call<Q, R>>::kIsUpload, "an upload is written by an actor: Channel::Open");
  CheckOutsideOfActors("ActorSystem::Ask blocks its thread; in an actor's turn use the channel's Ask");
  auto ask = [channel, request = std::move(request), trace = CurrentTrace()](Context& context,
                                                                             absl::Duration left) mutable {
    internal::ContinueTrace(context, trace);
    return channel.Ask(std::move(request), left);
  };
  return AwaitByActor<internal::ThreadWaiter<absl::StatusOr<R>, decltype(ask)>>(
      std::move(ask), timeout, MakeError(ErrorKind::kExpired, "no answer within the deadline"), StoppedError());
}

template <class Q, class R>
AskHandle ActorSystem::Ask(const Channel<Call<Q, R>>& channel, std::type_identity_t<Q> request, absl::Duration timeout,
                           std::type_identity_t<absl::AnyInvocable<void(absl::StatusOr<R>) &&>> callback) {
  static_assert(!internal::MessageTraits<Call<Q, R>>::kIsStream, "a stream is read by an actor: Channel::Ask");
  static_assert(!internal::MessageTraits<Call<Q, R>>::kIsUpload, "an upload is written by an actor: Channel::Open");
  auto ask = [channel, request = std::move(request), trace = CurrentTrace()](Context& context,
                                                                             absl::Duration left) mutable {
    internal::ContinueTrace(context, trace);
    return channel.Ask(std::move(request), left);
  };
  return AskByWaiter<R>(channel.pid(), std::move(ask), timeout, std::move(callback));
}

template <class Q, class R>
AskHandle ActorSystem::AskFor(std::shared_ptr<const Caller> caller, const Channel<Call<Q, R>>& channel,
                              std::type_identity_t<Q> request, absl::Duration timeout,
                              std::type_identity_t<absl::AnyInvocable<void(absl::StatusOr<R>) &&>> callback) {
  auto ask = [channel, request = std::move(request), callers = &callers(), caller = std::move(caller),
              entry = internal::CallerEntry(), trace = CurrentTrace()](Context& context, absl::Duration left) mutable {
    internal::ContinueTrace(context, trace);
    entry = internal::CallerEntry(*callers, context.Self(), std::move(caller));
    return channel.Ask(std::move(request), left);
  };
  return AskByWaiter<R>(channel.pid(), std::move(ask), timeout, std::move(callback));
}

template <class R, class Begin>
AskHandle ActorSystem::AskByWaiter(Pid callee, Begin ask, absl::Duration timeout,
                                   absl::AnyInvocable<void(absl::StatusOr<R>) &&> callback) {
  CheckOutsideOfActors("ActorSystem::Ask is for what is outside of actors; in an actor's turn use the channel's Ask");
  UNDERSTUDY_CHECK(callback != nullptr, "the callback of an Ask is null");
  auto turn = std::make_shared<internal::CallbackAsk<R>>(core_, callee, std::move(callback));
  if (IsFull()) {
    turn->Give(MakeError(ErrorKind::kFull, "an ask with a callback counts as an actor, and the system has actors_max"));
    return AskHandle(std::move(turn), Pid());
  }
  using Waiter = internal::ThreadWaiter<absl::StatusOr<R>, Begin>;
  const Pid waiter =
      StartWaiter<Waiter>(std::move(ask), clock().Now() + timeout, typename Waiter::Result(turn, StoppedError()));
  return AskHandle(std::move(turn), waiter);
}

template <class R>
absl::StatusOr<R> ActorSystem::Lookup(absl::string_view name, absl::Duration timeout) {
  CheckOutsideOfActors("ActorSystem::Lookup blocks its thread; in an actor's turn use the context's Lookup");
  auto look_up = [name = std::string(name)](Context& context, absl::Duration left) {
    return context.Lookup<R>(name, left);
  };
  absl::StatusOr<R> found = AwaitByActor<internal::ThreadWaiter<absl::StatusOr<R>, decltype(look_up)>>(
      std::move(look_up), timeout, MakeError(ErrorKind::kNoName, absl::StrCat("no actor has the name ", name)),
      StoppedError());
  if (IsNoName(found.status())) return NoOwnerError(registry(), name);
  return found;
}

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_ACTOR_SYSTEM_H_

// ActorSystem: actors, their threads and their names, in one process.
//
//   ActorSystem system;
//   AuctionRef lot = system.Spawn<EnglishAuction>(book, closes);
//   absl::StatusOr<OfferResult> result = system.Ask(lot.make_offer(), offer, absl::Seconds(1));
//
// No node is needed; a Node adopts a system and joins it with others. A process
// may hold several systems: an actor of one is not reached from another but
// through nodes.
//
// Threads: any plain thread; inside an actor's turn use context() instead (Ask,
// AwaitEnd, AwaitStart and Shutdown CHECK there). Lifetime: destroying it ends all actors, as
// Shutdown does, and waits for them.
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
#include "understudy/actors/dead_letters.h"
#include "understudy/actors/error.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/internal/asks/call_watch.h"
#include "understudy/actors/internal/asks/callback_ask.h"
#include "understudy/actors/internal/asks/thread_waiter.h"
#include "understudy/actors/internal/system/fatal_signals.h"
#include "understudy/actors/internal/system/mailbox_watch.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/ledger.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/router.h"
#include "understudy/actors/thread_pool.h"

namespace understudy {

// When actors that wait for each other in a circle are found and reported. It
// changes nothing else, and costs a lock and a search for each ask.
enum class FindCallCycles { kInDebugBuilds, kAlways, kNever };

// Whether an actor that ends abnormally by its own doing leaves a CrashReport,
// on its exit reason and in the log.
enum class CrashReports { kYes, kNo };

// Whether the first SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT of the process leaves one line in its standard error,
// before it ends the process as it would without: which actor's handler ran on that thread (pid, class, label or name),
// for which mailbox and type of message, and the program's build id. A handler that is installed already, such as a
// sanitizer's, is called next, by the same signal. A stack overflow leaves its line only on the threads that executors
// and systems make (workers, actors' own threads, timers, watchdogs), which have an alternate signal stack. On main,
// gRPC's threads, and others of a node or of the program it ends the process without a line, unless something else gave
// the thread such a stack.
enum class FatalSignalReports { kYes, kNo };

struct ActorSystemOptions {
  // Becomes the node's name when a Node adopts the system; a DNS label.
  std::string name = "local";
  // Null: a ThreadPool of its own.
  Executor* executor = nullptr;
  ThreadPoolOptions threads;
  // Of the system's randomness, its incarnation and the key of its addresses included. 0: from the operating system.
  uint64_t seed = 0;
  LogSink* log = nullptr;  // null: standard error
  // A mailbox that has been closed, with mail, for longer is logged. Infinite
  // where time is virtual: looking again and again lets it pass for ever.
  absl::Duration closed_mail_limit = absl::Minutes(1);
  // How long the destructor lets actors end by themselves.
  absl::Duration shutdown_within = absl::Seconds(5);
  FindCallCycles call_cycles = FindCallCycles::kInDebugBuilds;
  // How many of its last messages each actor keeps for its CrashReport; at most
  // limits::kLastMessagesMax. With 0 a report has the one in hand, and messages
  // cost nothing more; with others a few hundred nanoseconds each.
  int last_messages = 0;
  CrashReports crash_reports = CrashReports::kYes;
  // From construction to destruction, for all of the process. A node says so too: NodeOptions::fatal_signal_reports.
  FatalSignalReports fatal_signal_reports = FatalSignalReports::kNo;
  // Actors that may live at once, so that actors which spawn without end fill no memory. A spawn beyond that gives a
  // pid whose start has failed with ResourceExhausted: its outcome, monitors and asks say so. At most
  // limits::kActorsPerSystemMax.
  int64_t actors_max = limits::kActorsDefaultMax;
};

class ActorSystem : public Inbound, public SpawnsActors<ActorSystem> {
 public:
  explicit ActorSystem(ActorSystemOptions options = {});
  // Shutdown(shutdown_within). No plain thread uses the system, nor a channel,
  // Replier or unhandled mail of it, until this has returned.
  ~ActorSystem() override;
  ActorSystem(const ActorSystem&) = delete;
  ActorSystem& operator=(const ActorSystem&) = delete;

  // Spawn starts an actor without a parent. It returns at once and never fails:
  // a start that does is seen by monitors and asks.
  // What Spawn does, for a factory.
  Pid SpawnMade(SpawnOptions options, internal::MakeActor make);

  // Asks and blocks this plain thread for the answer, at most `timeout`. It goes on
  // while the system shuts down, see Shutdown; Cancelled after that. CHECKs in an actor's turn, and in a callback.
  template <class Q, class R>
  absl::StatusOr<R> Ask(const Channel<Call<Q, R>>& channel, std::type_identity_t<Q> request, absl::Duration timeout);

  // The same without blocking: `callback` is called exactly once, with the answer or with the error that the blocking
  // Ask would return. It may be called before this function returns.
  // - The callback runs on a worker, outside any actor's turn; what it sends comes from no actor. It may start another
  //   ask of this kind. It must not block: until it returns it holds the worker, and the watchdog names it in the log
  //   as it names a handler.
  // - An exception that leaves the callback ends the process.
  // - The ask is under way until its callback has returned. Shutdown waits for that, so the callback runs before the
  //   system is destroyed. When Shutdown waits for answers no longer (its steps 2 and 3) the outcome is Cancelled, also
  //   of asks that are started later; a callback that then always asks again keeps Shutdown from returning.
  // - The outcome is Full when the system has as many actors as it may (actors_max): each ask of this kind that waits
  //   for its answer counts as one.
  // Threads: any plain thread, and a callback's. CHECKs in an actor's turn.
  template <class Q, class R>
  AskHandle Ask(const Channel<Call<Q, R>>& channel, std::type_identity_t<Q> request, absl::Duration timeout,
                std::type_identity_t<absl::AnyInvocable<void(absl::StatusOr<R>) &&>> callback);

  // Blocks this plain thread until the name is there, at most `timeout`, and gives a ref bound to its owner. Errors as
  // Context::Lookup; Cancelled when the system ends first. Not in an actor's turn (as Ask).
  template <class R>
  absl::StatusOr<R> Lookup(absl::string_view name, absl::Duration timeout);

  // As in Context, from a plain thread. An exit from here is a parent's to an
  // actor without a parent.
  void Exit(Pid target, ExitReason reason);
  void Kill(Pid target);
  void RequestStop(Pid target, ExitReason reason = ExitReason::Shutdown());
  // The present owner of a name here or, published, elsewhere.
  absl::optional<Pid> WhereIs(absl::string_view name) { return FindPid(name); }
  // Blocks until `target` has ended, at most `timeout`, and gives its reason; for
  // one that had ended before, NoProcess. Expired when it lives on.
  absl::StatusOr<ExitReason> AwaitEnd(Pid target, absl::Duration timeout);

  // Blocks until `target`, an actor of this system, has started, at most `timeout`: a supervisor has when its whole
  // tree has. OK; CalleeExited with the reason (ExitReasonOf) when its start failed, also if that was before this call
  // and it has no parent (the last limits::kFailedStartsKeptMax of them are known); NoProcess when it has ended
  // otherwise, also by declining to start; Expired when it is still starting; InvalidArgument for another node's pid.
  absl::Status AwaitStart(Pid target, absl::Duration timeout);

  // Ends all actors, in this order:
  //  1. Actors without parents get Shutdown, and end their children in order. An actor
  //     that is not ending may still spawn linked children; what plain threads spawn,
  //     unlinked children and what an ending actor spawns are ended at once. Ask and AwaitEnd of plain threads,
  //     and asks with callbacks, go on, and new ones are taken: each ends when its callee answers or ends.
  //  2. When only such calls are left, of actors on other nodes, they and all later
  //     ones are answered with Cancelled.
  //  3. After `within` what is left is killed, and every spawn is ended at once.
  // Returns false if an actor was killed because it exceeded `within`, its own
  // shutdown_within or its supervisor's limit, or if a callback of an Ask ran on after `within`.
  bool Shutdown(absl::Duration within);

  // All messages of this system. Balances whenever no turn runs.
  MessageLedger Ledger() const { return core_.Ledger(); }
  // The same, for each mailbox that has accepted something: those of living
  // actors, one after another, then those of ended actors, together by name and
  // type. Each balances, and their sum is Ledger(), but for what was refused.
  std::vector<MailboxLedger> MailboxLedgers() const { return core_.MailboxLedgers(); }
  // Those of one actor; none when it has ended.
  std::vector<MailboxLedger> MailboxLedgers(Pid actor) const { return core_.MailboxLedgers(actor); }

  // Gauges: actors that have begun and not ended (a fenced one ends when its
  // handler returns), and those of them that are fenced.
  int64_t live_actors() const { return core_.live_actors.load(std::memory_order_seq_cst); }
  int64_t fenced_actors() const { return core_.fenced_actors(); }
  // Counts: dead letters, refused tells among them; replies that came when their
  // asker no longer waited, and were dropped; exits to actors that trap, and
  // requests to stop, that were merged (ExitEvent::merged, StopRequest::merged).
  int64_t dead_letters() const { return core_.dead_letters().count(); }
  int64_t late_replies() const { return core_.late_replies(); }
  int64_t merged_exits() const { return core_.merged_exits(); }
  // Call cycles found, and a listener for each: called on the thread that closed
  // it, after the log line; must not wait or send. Nothing where they are not to
  // be found (ActorSystemOptions).
  int64_t call_cycles() { return core_.call_watch() == nullptr ? 0 : core_.call_watch()->cycles(); }
  void SubscribeCallCycles(absl::AnyInvocable<void(const CallCycle&)> listener) {
    if (core_.call_watch() != nullptr) core_.call_watch()->Subscribe(std::move(listener));
  }
  // Called for each dead letter, on the thread that made it (see DeadLetterStream).
  // Gives what Unsubscribe takes.
  uint64_t SubscribeDeadLetters(DeadLetterStream::Listener listener) {
    return core_.dead_letters().Subscribe(std::move(listener));
  }
  // An actor's mailbox hears of each, until the actor's end. One that is full misses some.
  uint64_t SubscribeDeadLetters(Channel<DeadLetter> channel) {
    return core_.dead_letters().SubscribeWhile(
        [channel](const DeadLetter& letter) { return !IsNoProcess(channel.Send(letter)); });
  }
  bool UnsubscribeDeadLetters(uint64_t id) { return core_.dead_letters().Unsubscribe(id); }
  // The mailboxes that are closed and have mail, and for how long.
  std::vector<ClosedMailbox> ClosedMailboxes() { return mailbox_watch_->Look(); }
  const std::string& name() const { return core_.name(); }
  NodeIncarnation incarnation() const { return core_.incarnation(); }
  Registry& registry() { return core_.registry(); }
  Executor& executor() { return core_.executor(); }
  Clock& clock() { return core_.clock(); }
  LogSink& log() { return core_.log(); }
  // A seed for a generator of the caller's, from this system's.
  uint64_t NewSeed() { return core_.NewSeed(); }

  // For a transport: FatalSignalReports::kYes until this system is destroyed.
  void ReportFatalSignals() {
    if (fatal_signals_ == nullptr) fatal_signals_ = std::make_unique<internal::FatalSignals>();
  }
  // For a transport. Null uninstalls. What is installed outlives its use here.
  void InstallRouter(Router* router) { core_.InstallRouter(router); }
  void InstallSpawner(Spawner* spawner) { core_.InstallSpawner(spawner); }
  void InstallPublisher(NamePublisher* publisher) { core_.InstallPublisher(publisher); }
  // The place in NodeTable under which this system knows that peer.
  // ResourceExhausted when the table is full.
  absl::StatusOr<NodePlace> InternPeer(absl::string_view name, NodeIncarnation incarnation);
  // Peers of that name that were given to InternPeer are dead, but not `alive`: their
  // places may be given to others.
  void MarkPeersDead(absl::string_view name, absl::optional<NodeIncarnation> alive) {
    internal::NodeTable::MarkDead(&core_, name, alive);
  }
  // The index of this system itself.
  uint16_t node() const { return core_.node(); }

  // Inbound.
  absl::Status Deliver(internal::Message message) override;
  void Deliver(Signal signal) override;
  void OnRefusedTell(const DeadLetter& letter) override { core_.OnDeadLetter(letter); }
  bool WasGivenOut(Pid pid) const override { return core_.WasGivenOut(pid); }
  ReservedRoom Reserve(const RoomRequest& request) override;
  void GiveBack(const RoomRequest& request) override;
  void WaitForRoom(const RoomWait& wait) override;
  void StopWaiting(const RoomWait& wait) override;

  internal::SystemCore& core() { return core_; }

 private:
  absl::optional<Pid> FindPid(absl::string_view name);
  void PruneRoots() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Blocks this plain thread for what a Waiter gives, which is made of `first`, the deadline and its end of the outlet.
  // `late` when nothing came in time, `closed` when nothing will come.
  template <class Waiter, class First>
  typename Waiter::Result::Value AwaitByActor(First first, absl::Duration timeout, absl::Status late,
                                              absl::Status closed);
  // Spawns a Waiter, which waits for something in place of a plain thread or a callback. When no more can be, the end
  // is dropped, which tells its outlet, and the pid is null.
  template <class Waiter, class First>
  Pid StartWaiter(First first, MonotonicTime deadline, typename Waiter::Result end);
  Pid SpawnWaiter(internal::MakeActor make);
  static absl::Status StoppedError();
  void PruneWaiters() ABSL_EXCLUSIVE_LOCKS_REQUIRED(waiters_mu_);
  bool OnlyWaitersAreLeft();
  // None has anything to do, such as an answer that it has not seen.
  bool AreWaitersIdle();
  // Ends those that are left, and later ones at once.
  void EndWaiters();
  bool AwaitEmpty(MonotonicTime deadline);
  void PostToAll(SignalKind kind);

  const AddressKey address_key_;
  const ActorSystemOptions options_;
  std::unique_ptr<internal::FatalSignals> fatal_signals_;  // null: they are not reported for this system
  const std::unique_ptr<ThreadPool> own_pool_;             // null when injected
  internal::SystemCore core_;
  const std::unique_ptr<Registry> registry_;
  std::unique_ptr<MailboxWatch> mailbox_watch_;
  absl::Mutex mu_;
  std::vector<Pid> roots_ ABSL_GUARDED_BY(mu_);
  size_t prune_at_ ABSL_GUARDED_BY(mu_) = 64;
  // The executor may hold a lock of its own when it asks OnlyWaitersAreLeft: nothing is called with this one held.
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
  UNDERSTUDY_CHECK(internal::ThisTurn().cell == nullptr,
                   "ActorSystem::Ask blocks its thread; in an actor's turn use the channel's Ask");
  auto ask = [channel, request = std::move(request)](Context&, absl::Duration left) mutable {
    return channel.Ask(std::move(request), left);
  };
  return AwaitByActor<internal::ThreadWaiter<absl::StatusOr<R>, decltype(ask)>>(
      std::move(ask), timeout, MakeError(ErrorKind::kExpired, "no answer within the deadline"), StoppedError());
}

template <class Q, class R>
AskHandle ActorSystem::Ask(const Channel<Call<Q, R>>& channel, std::type_identity_t<Q> request, absl::Duration timeout,
                           std::type_identity_t<absl::AnyInvocable<void(absl::StatusOr<R>) &&>> callback) {
  UNDERSTUDY_CHECK(internal::ThisTurn().cell == nullptr,
                   "ActorSystem::Ask is for what is outside of actors; in an actor's turn use the channel's Ask");
  UNDERSTUDY_CHECK(callback != nullptr, "the callback of an Ask is null");
  auto turn = std::make_shared<internal::CallbackAsk<R>>(core_, channel.pid(), std::move(callback));
  if (core_.is_full()) {
    turn->Give(MakeError(ErrorKind::kFull, "an ask with a callback counts as an actor, and the system has actors_max"));
    return AskHandle(std::move(turn), Pid());
  }
  auto ask = [channel, request = std::move(request)](Context&, absl::Duration left) mutable {
    return channel.Ask(std::move(request), left);
  };
  using Waiter = internal::ThreadWaiter<absl::StatusOr<R>, decltype(ask)>;
  const Pid waiter =
      StartWaiter<Waiter>(std::move(ask), clock().Now() + timeout, typename Waiter::Result(turn, StoppedError()));
  return AskHandle(std::move(turn), waiter);
}

template <class R>
absl::StatusOr<R> ActorSystem::Lookup(absl::string_view name, absl::Duration timeout) {
  UNDERSTUDY_CHECK(internal::ThisTurn().cell == nullptr,
                   "ActorSystem::Lookup blocks its thread; in an actor's turn use the context's Lookup");
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

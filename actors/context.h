// Context: what an actor can do besides receiving: start and end actors, link and monitor them, close mailboxes, and
// use timers, names, clocks and the log. Actor::context() gives it.
//
//   worker_ = context().Spawn<Worker>(SpawnOptions{.link = SpawnLink::kOneWay}.OnDown(&Owner::WorkerDown), config_);
//   monitor_ = context().Monitor(buyer, &Owner::BuyerDown);           // until the handle is destroyed
//   absl::Status started = context().StartTimer("retry", absl::Seconds(5), &Owner::Retry);
//   auto pause = context().Sleep(absl::Seconds(1));
//   absl::Status slept = co_await pause;                              // a second statement
//
// Guarantees: what is sent to one actor (messages, exits, links, monitors) arrives there in the order of the calls.
// What changes this actor itself (BecomeStacked, Unbecome, Stop) takes effect when the handler returns or awaits.
// Failure: no call waits. A call that can be refused returns a Status, or what is awaited for one. Spawn, Link and
// Monitor do not: their failure is the SpawnOutcome, exit or Down that follows. Threads: only in the turns of the
// context's actor (CHECKed in debug builds). Lifetime: as long as that actor.
#ifndef UNDERSTUDY_ACTORS_CONTEXT_H_
#define UNDERSTUDY_ACTORS_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/behavior.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/events.h"
#include "understudy/actors/internal/turn/handler.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/mailbox_array.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pending.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/replier.h"

namespace understudy {

struct Caller;
class Spawner;

// A monitor that an actor has on another one. Destroying the handle ends the monitor and
// removes its Down if that is waiting. Move-only. Only its actor may use it, in its turns.
class MonitorHandle {
 public:
  MonitorHandle() = default;
  MonitorHandle(Pid owner, uint64_t id) : owner_(owner), id_(id) {}
  MonitorHandle(MonitorHandle&& other) noexcept : owner_(other.owner_), id_(std::exchange(other.id_, 0)) {}
  MonitorHandle& operator=(MonitorHandle&& other) noexcept {
    if (this != &other) {
      End();
      owner_ = other.owner_;
      id_ = std::exchange(other.id_, 0);
    }
    return *this;
  }
  ~MonitorHandle() { End(); }

  // The id that the Down has in Down::monitor; 0 if this handle has no monitor.
  uint64_t id() const { return id_; }
  // Ends the monitor now, as the destructor does.
  void End();
  // Detaches the handle, so that the monitor stays until it fires. Returns its id.
  uint64_t Keep() && { return std::exchange(id_, 0); }

 private:
  Pid owner_;
  uint64_t id_ = 0;
};

// See Context::HoldLife.
using LifeHold = std::shared_ptr<const void>;

// Keeps a mailbox closed while the object lives. If it is bound to an ask, the mailbox
// opens again when the ask is over, at the latest. Move-only. Only its actor may use it.
class ScopedClose {
 public:
  ScopedClose() = default;
  // For Context::Close. `ask` is 0 if the object is not bound to an ask.
  ScopedClose(Pid owner, int mailbox, uint64_t ask = 0) : owner_(owner), mailbox_(mailbox), ask_(ask) {}
  ScopedClose(ScopedClose&& other) noexcept
      : owner_(other.owner_), mailbox_(std::exchange(other.mailbox_, -1)), ask_(other.ask_) {}
  ScopedClose& operator=(ScopedClose&& other) noexcept {
    if (this != &other) {
      End();
      owner_ = other.owner_;
      mailbox_ = std::exchange(other.mailbox_, -1);
      ask_ = other.ask_;
    }
    return *this;
  }
  ~ScopedClose() { End(); }
  // Ends the close now, as the destructor does.
  void End();
  // Detaches the object: the mailbox stays closed until the ask is over, or for the life of
  // the actor if the object is not bound to an ask.
  void Keep() && { mailbox_ = -1; }

 private:
  Pid owner_;
  int mailbox_ = -1;
  uint64_t ask_ = 0;
};

// The result of Lookup: awaits StatusOr<R>.
template <class R>
class [[nodiscard]] PendingLookup {
  static_assert(std::is_constructible_v<R, Pid>,
                "Lookup gives a ref, not an actor: Lookup<Ref<Counter>>, or the ref class of a service");

 public:
  using UnderstudyAwaitable = void;
  explicit PendingLookup(internal::PendingId id) : id_(id) {}

  auto operator co_await() const {
    struct Awaiter : internal::PendingAwaiter {
      using internal::PendingAwaiter::PendingAwaiter;
      absl::StatusOr<R> await_resume() const {
        internal::Answer answer = internal::TakeAnswer(this->pending_);
        if (!answer.status.ok()) return answer.status;
        const auto& record = answer.payload.template As<NameRecord>();
        if (record.mailboxes != nullptr) {
          absl::Status fits = CheckMailboxes(internal::MailboxesOf<R>(), *record.mailboxes);
          if (!fits.ok()) return fits;
        }
        if constexpr (std::is_constructible_v<R, Pid>) return R(record.pid);
      }
    };
    return Awaiter(id_);
  }

  // For waiting for several lookups (pending_group.h): Pending<NameRecord>(lookup.id()).
  internal::PendingId id() const { return id_; }

 private:
  internal::PendingId id_;
};

// The result of Sleep: awaits a Status.
class [[nodiscard]] Sleeping {
 public:
  using UnderstudyAwaitable = void;
  Sleeping(internal::PendingId id, MonotonicTime until) : id_(id), until_(until) {}

  auto operator co_await() const {
    struct Awaiter : internal::PendingAwaiter {
      Awaiter(internal::PendingId id, MonotonicTime until) : internal::PendingAwaiter(id), until_(until) {}
      absl::Status await_resume() const {
        // No actor answers a sleep, so its ask expires when the sleep is over.
        absl::Status status = internal::TakeAnswer(pending_).status;
        return IsExpired(status) && pending_.deadline >= until_ ? absl::OkStatus() : status;
      }
      MonotonicTime until_;
    };
    return Awaiter(id_, until_);
  }

 private:
  internal::PendingId id_;
  MonotonicTime until_;
};

// A pid, or something that has one: a ref, a channel.
template <class T>
concept HasPid = requires(const T& target) {
  { target.pid() } -> std::convertible_to<Pid>;
};

class Context : public SpawnsActors<Context> {
 public:
  explicit Context(internal::ActorCore& core) : core_(core) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // This actor's pid.
  Pid Self() const;
  // The actor that spawned this one; null if a plain thread did.
  Pid Parent() const;
  MonotonicTime Now() const;
  absl::Time WallNow() const;
  // This actor's own random generator, seeded from the system's seed.
  understudy::Random& Random();
  LogSink& Log();

  // The gRPC client whose call is being handled (caller.h); never null. NotFound: the asker is not known as a client's.
  // FailedPrecondition: no call is being handled.
  absl::StatusOr<std::shared_ptr<const understudy::Caller>> Caller() const;

  // Starts an actor that `make` constructs, with this actor as its parent, and links the
  // two unless `options` says otherwise; the overloads of Spawn (actor_spec.h) call this. It
  // returns at once and never fails. If the new actor's start fails, its SpawnOutcome, the
  // link and monitors report that.
  Pid SpawnMade(SpawnOptions options, internal::MakeActor make);
  // Starts processes, and actors on other nodes. Null if the system has no node.
  understudy::Spawner* Spawner();

  // Returns a channel to a mailbox of this actor, for example to send it to another actor
  // as the place for answers.
  template <class M>
  Channel<M> ChannelTo(const internal::TypedMailbox<M>& mailbox) const {
    return Channel<M>(Self(), WireHashOf(mailbox));
  }
  // Channel::Send and Tell to this actor itself.
  template <class M>
  [[nodiscard]] absl::Status Send(const internal::TypedMailbox<M>& mailbox, std::type_identity_t<M> message) {
    return ChannelTo(mailbox).Send(std::move(message));
  }
  template <class M>
  void Tell(const internal::TypedMailbox<M>& mailbox, std::type_identity_t<M> message) {
    ChannelTo(mailbox).Tell(std::move(message));
  }

  // Links this actor and the target, and returns at once. If the target has ended, cannot be
  // reached or does not permit the link, this actor gets an exit along the link, with reason
  // NoProcess, NoConnection or NotPermitted. If this actor has limits::kLinksPerActorMax links
  // already, the reason is Failed(ResourceExhausted).
  template <class T>
  void Link(const T& target) {
    LinkPid(PidOf(target));
  }
  // Ends the link. From now on no exit arrives along it, and one that is waiting is removed.
  // Exits that the target sent with Exit still arrive.
  template <class T>
  void Unlink(const T& target) {
    UnlinkPid(PidOf(target));
  }
  // Calls `handler` once, with a Down, when the target ends. While another handler of this actor awaits, `handler`
  // does not run, unless the other one is Interleaved (semantics 3.5). If the target has ended or cannot be reached,
  // the Down comes at once, with reason NoProcess or NoConnection. If this actor has limits::kMonitorsPerActorMax
  // monitors already, the reason is Failed(ResourceExhausted).
  template <class T, class F>
  [[nodiscard]] MonitorHandle Monitor(const T& target, F handler) {
    return MonitorPid(PidOf(target), internal::MakeSharedHandler<Down>(std::move(handler)));
  }
  // For the process style: a Receive takes the Down, with a clause On(handle, …) or
  // On<Down>(…). An actor that is not in the process style CHECKs when the event comes. Both
  // also hold for the other functions of this class that have a form without a handler.
  template <class T>
  [[nodiscard]] MonitorHandle Monitor(const T& target) {
    return MonitorPid(PidOf(target), nullptr);
  }
  // Like Monitor, but the Down comes when the target is gone: it has ended and nothing of it is left. So a successor
  // that is started then never exists at the same time as the target's object. An actor is gone later than it ends in
  // two cases. If it was fenced, it is gone when its handler has returned and its object and coroutine frames are
  // destroyed. If others have LifeHolds of it (HoldLife), it is gone when the last one is released. An actor of
  // another node counts as gone when it ends or its node does.
  template <class T, class F>
  [[nodiscard]] MonitorHandle MonitorUntilGone(const T& target, F handler) {
    return MonitorPidUntilGone(PidOf(target), internal::MakeSharedHandler<Down>(std::move(handler)));
  }
  // Returns true if `actor` is gone, as for MonitorUntilGone. The caller then sees what the actor's destructors wrote.
  // Returns false for an actor of another node.
  bool IsGone(Pid actor) const;
  // Keeps this actor from being gone, though it may have ended, until the result and all copies of it are destroyed.
  // For the proxy of something that outlives it, such as a process. The result may be used on any thread and may
  // outlive the system.
  [[nodiscard]] LifeHold HoldLife();

  // Sends an exit signal. If the target does not trap exits, the signal ends it, without
  // regard to the messages that wait; the reason Normal does so only if the target is this
  // actor. If it traps exits, it gets an event.
  template <class T>
  void Exit(const T& target, ExitReason reason) {
    ExitPid(PidOf(target), std::move(reason));
  }
  // Ends the target without running its OnExit. Cannot be trapped. Links and monitors of the
  // target get the reason Killed.
  template <class T>
  void Kill(const T& target) {
    KillPid(PidOf(target));
  }
  // Ends the target, after the events and open-mailbox messages that arrived before this
  // request. If the target has called TrapStops, its handler is called instead.
  template <class T>
  void RequestStop(const T& target, ExitReason reason = ExitReason::Shutdown()) {
    RequestStopPid(PidOf(target), std::move(reason));
  }

  // From now on, exits from actors other than the parent do not end this actor, but are
  // events for `handler` (const ExitEvent&). The parent's exit still ends the actor, when its
  // turn in the order of arrival comes. Exits that are waiting already go to `handler` too.
  template <class F>
  void TrapExits(F handler) {
    SetTraps(internal::MakeSharedHandler<ExitEvent>(std::move(handler)), nullptr);
  }
  // Also makes the parent's exit an event, for `parent_handler`, which should begin to end
  // the actor: after SpawnOptions::shutdown_within the actor is killed.
  template <class F, class G>
  void TrapExits(F handler, G parent_handler) {
    SetTraps(internal::MakeSharedHandler<ExitEvent>(std::move(handler)),
             internal::MakeSharedHandler<ExitEvent>(std::move(parent_handler)));
  }
  // For the process style: a Receive takes the exits (On<ExitEvent>). The parent's exit ends
  // the actor at its next Receive that does not take it.
  void TrapExits() { SetTraps(nullptr, nullptr); }
  // From now on a RequestStop does not end this actor, but is an event for `handler`
  // (const StopRequest&). Requests that are waiting already go to `handler` too.
  template <class F>
  void TrapStops(F handler) {
    SetStopHandler(internal::MakeSharedHandler<StopRequest>(std::move(handler)));
  }

  // Completes a start that began with StartResult::Starting.
  void FinishStart();
  // Declines a start that began with StartResult::Starting, as StartResult::Ignore() does.
  void DeclineStart();
  // Ends this actor with `reason` when the handler returns or awaits. If the actor is ended
  // more than once, the first reason counts. Before the actor has started, this is a start
  // that failed with `reason`.
  void Stop(ExitReason reason = ExitReason::Normal());
  // Like Stop, but no CrashReport is made, because the reason comes from elsewhere. For the
  // proxy of a process or of an actor on another node, where `reason` says why that process or
  // actor ended, and for an actor that was told to end and does so in its own time.
  void StopAs(ExitReason reason);

  // Pushes `behavior` onto the stack of behaviors: it becomes current, and the one that is
  // current now returns with Unbecome. Takes effect when the handler returns or awaits.
  // (Actor::Become replaces only the top of the stack.) On an error nothing changes. Full:
  // limits::kBehaviorsStackedMax behaviors lie below already. FailedPrecondition: Start has
  // not given a behavior yet.
  [[nodiscard]] absl::Status BecomeStacked(const Behavior& behavior);
  // Pops the stack: the behavior below becomes current when the handler returns or awaits.
  // FailedPrecondition if no behavior lies below.
  [[nodiscard]] absl::Status Unbecome();

  // Says, before this actor has started, that a behavior which it builds later has a clause for
  // `mailbox`, so that the start does not fail because none has one yet (mailbox.h).
  void HandlesLater(const internal::MailboxBase& mailbox);

  // Closes the mailbox while the result lives.
  [[nodiscard]] ScopedClose Close(const internal::MailboxBase& mailbox);
  // Closes all mailboxes of the array, each with a ScopedClose of its own.
  [[nodiscard]] std::vector<ScopedClose> Close(const internal::MailboxArrayBase& mailboxes);
  // Closes the mailbox until the ask `until` of this actor is over, whether it is awaited or
  // not: by its reply, the callee's end, its deadline, the end of the session or Cancel. The
  // mailbox opens earlier if the result is destroyed; call `std::move(close).Keep()` to
  // prevent that. Closes nothing if the ask is over already.
  template <class R>
  [[nodiscard]] ScopedClose Close(const internal::MailboxBase& mailbox, const Pending<R>& until) {
    return CloseUntil(mailbox, until.id());
  }
  // Puts the current message, whose handler runs, back into its mailbox when the handler
  // ends. It is eligible again when the behavior changes, or at once if the behavior has
  // changed since this call. CHECKs that there is a current message; that its handler did not
  // take it by value, which moves from it (take const M&; a generic lambda that moves from it
  // is not detected); and that a call has not been answered and its Replier is not kept.
  void Postpone();
  // Forwards the current message, as `message`, to another mailbox of this actor, which makes
  // the handler a classifier. The target accepts it anew, behind the messages that have
  // arrived. The disposition of the current message is "forwarded", or "dead letter" if the
  // target is full; the asker of a call then gets Full. A call is forwarded with its Replier,
  // and keeps its asker and deadline. CHECKs that there is a current message, and that it has
  // not been forwarded or postponed.
  template <class M>
  void Forward(const internal::TypedMailbox<M>& target, std::type_identity_t<M> message) {
    ForwardPayload(target.index(), internal::Payload::ForForward<M>(std::move(message)), /*replier=*/nullptr);
  }
  template <class Q, class R>
    requires(!internal::MessageTraits<Call<Q, R>>::kIsUpload)
  void Forward(const internal::TypedMailbox<Call<Q, R>>& target, std::type_identity_t<Q> request, Replier<R> replier) {
    ForwardPayload(target.index(), internal::Payload::ForForward<Q>(std::move(request)), &replier);
  }

  // Begins a trace (trace.h) of what this handler causes, if head sampling says so. Returns whether the handler belongs
  // to one, which it may have done before. `name` is the name of its span and lives as long as the process.
  // In a handler or Start; elsewhere it returns false.
  bool StartTrace(absl::string_view name);
  // Ends the span of this handler. What the handler sends from now on belongs to no trace.
  void EndTrace();

  // Calls `handler` once, after `delay`. Replaces a running timer of the same name. Named
  // timers survive a change of behavior. Full if limits::kTimersPerActorMax named timers run.
  template <class F>
  absl::Status StartTimer(absl::string_view name, absl::Duration delay, F handler) {
    return StartNamedTimer(name, delay, internal::MakeSharedHandler<TimerEvent>(std::move(handler)));
  }
  // For the process style: a Receive takes the event (On<TimerEvent>).
  absl::Status StartTimer(absl::string_view name, absl::Duration delay) {
    return StartNamedTimer(name, delay, nullptr);
  }
  // Awaiting the result waits for `delay` and gives OK. Meanwhile the actor handles other
  // messages only if the awaiting handler's clause is Interleaved.
  //
  //   auto pause = context().Sleep(absl::Seconds(1));
  //   absl::Status slept = co_await pause;
  //
  // Expired if the deadline of the call that is being handled comes first, or if `delay` is
  // longer than limits::kAskTimeoutMax, after that time. Full if the actor has
  // limits::kAsksPerActorMax asks under way.
  Sleeping Sleep(absl::Duration delay);
  // Stops the timer, and removes its event if that is waiting. Returns false if no timer of
  // that name ran.
  bool CancelTimer(absl::string_view name);

  // Registers a name of this node for this actor, until the actor ends. AlreadyExists: another
  // actor has the name, or it is vacant. InvalidArgument: the name is not valid.
  // FailedPrecondition: the actor's constructor is running, so its mailboxes are not known.
  [[nodiscard]] absl::Status Register(absl::string_view name);
  // Publishes a name of the cluster for this actor. OK means that the name is free as far as
  // this node knows. A peer accepts the name only if it grants it to this node: without an
  // entry in the peer's NodeOptions::grants these are the names below NODE/, where NODE is
  // this node's name, or any name if the peers trust each other (grants.h). A peer that does
  // not accept it logs that. On an error this actor loses the name on this node too, even if
  // it had registered it before. Errors: as for Register.
  Pending<void> Publish(absl::string_view name);
  // Gives up a registered or published name.
  void Unregister(absl::string_view name);
  // For supervisors: keeps the name for a child of this actor (registry.h) until FreeName or
  // the end of this actor. `keep.keeper` is ignored; this actor is the keeper.
  void KeepName(NameKeep keep);
  void FreeName(absl::string_view name);
  // Waits until an actor has the name, for at most `timeout`, and gives a ref to that actor.
  // At the timeout: NoName, or Restarting if the owner is being restarted.
  // FailedPrecondition: the owner lacks a mailbox that R uses. InvalidArgument: the name is
  // not valid.
  template <class R>
  PendingLookup<R> Lookup(absl::string_view name, absl::Duration timeout) {
    return PendingLookup<R>(StartLookup(name, timeout));
  }
  // Calls `handler` (const NameChange&) for the current owner of the name, if any, and for each
  // later change, until UnwatchName or the end of this actor. Of the changes that come while
  // this actor is busy, the first and the last are told, each in its place among the messages.
  // If this actor watches the name already, that watch ends as by UnwatchName, and `handler` is
  // told of the current owner. InvalidArgument: the name is not valid. Full:
  // limits::kNamesWatchedPerActorMax names are watched.
  template <class F>
  [[nodiscard]] absl::Status WatchName(absl::string_view name, F handler) {
    return StartNameWatch(name, internal::MakeSharedHandler<NameChange>(std::move(handler)));
  }
  // For the process style: a Receive takes the changes (On<NameChange>).
  [[nodiscard]] absl::Status WatchName(absl::string_view name) { return StartNameWatch(name, nullptr); }
  // Ends the watch of the name. From now on no change of it is told, and those that wait are
  // removed. Does nothing if this actor does not watch the name.
  void UnwatchName(absl::string_view name);

  // For Actor.
  internal::ActorCore& core() { return core_; }

  // The names and types of this actor's mailboxes. Empty while its constructor runs.
  std::vector<MailboxSignature> Mailboxes() const;

 private:
  static Pid PidOf(Pid pid) { return pid; }
  template <HasPid T>
  static Pid PidOf(const T& target) {
    return target.pid();
  }

  void LinkPid(Pid pid);
  void UnlinkPid(Pid pid);
  MonitorHandle MonitorPid(Pid pid, std::shared_ptr<internal::MessageHandler> handler);
  MonitorHandle MonitorPidUntilGone(Pid pid, std::shared_ptr<internal::MessageHandler> handler);
  void ExitPid(Pid pid, ExitReason reason);
  void KillPid(Pid pid);
  void RequestStopPid(Pid pid, ExitReason reason);
  void SetTraps(std::shared_ptr<internal::MessageHandler> handler,
                std::shared_ptr<internal::MessageHandler> parent_handler);
  void SetStopHandler(std::shared_ptr<internal::MessageHandler> handler);
  // `replier` is null if the current message is a tell.
  void ForwardPayload(int mailbox, internal::Payload payload, internal::ReplierBase* replier);
  absl::Status StartNamedTimer(absl::string_view name, absl::Duration delay,
                               std::shared_ptr<internal::MessageHandler> handler);
  uint32_t WireHashOf(const internal::MailboxBase& mailbox) const;
  ScopedClose CloseUntil(const internal::MailboxBase& mailbox, const internal::PendingId& pending);
  internal::PendingId StartLookup(absl::string_view name, absl::Duration timeout);
  absl::Status StartNameWatch(absl::string_view name, std::shared_ptr<internal::MessageHandler> handler);

  internal::ActorCore& core_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_CONTEXT_H_

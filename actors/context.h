// Context: what an actor can do besides receiving. Actor::context() gives it.
//
// Owner's turn only: CHECKed in debug builds. Its actor's life is its own.
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

class Spawner;

// A monitor of this actor: destroying it ends the monitor and removes its Down
// if that waits. Move-only, and used only by its actor on its turn.
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

  // As Down::monitor has it; 0 for none.
  uint64_t id() const { return id_; }
  // Ends the monitor now.
  void End();
  // Lets go: the monitor stays until it fires.
  uint64_t Keep() && { return std::exchange(id_, 0); }

 private:
  Pid owner_;
  uint64_t id_ = 0;
};

// See Context::HoldLife.
using LifeHold = std::shared_ptr<const void>;

// Keeps a mailbox closed while it lives; one that is bound to an ask ends with
// that at the latest. Move-only, owner only.
class ScopedClose {
 public:
  ScopedClose() = default;
  // `ask` is 0 when it is bound to none.
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
  void End();
  // Lets go: the mailbox stays closed until the ask is over, or, when it is
  // bound to none, as long as the actor lives.
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
        if (absl::Status fits = CheckMailboxes(internal::MailboxesOf<R>(), record.mailboxes); !fits.ok()) return fits;
        if constexpr (std::is_constructible_v<R, Pid>) return R(record.pid);
      }
    };
    return Awaiter(id_);
  }

  // For groups of them (pending_group.h), as Pending<NameRecord>(lookup.id()).
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
        // No actor answers a sleep: at its end its entry expires.
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
  // Who spawned it; null for a plain thread.
  Pid Parent() const;
  MonotonicTime Now() const;
  absl::Time WallNow() const;
  // This actor's own generator, seeded by the system's.
  understudy::Random& Random();
  LogSink& Log();

  // Spawn starts a new actor and links it, with this one as its parent. It
  // returns at once and never fails: a start that does is told by SpawnOutcome,
  // by the link and by monitors.
  // What Spawn does, for a factory.
  Pid SpawnMade(SpawnOptions options, internal::MakeActor make);
  // Starts things elsewhere; null without a node.
  understudy::Spawner* Spawner();

  // The sending end of a mailbox of this actor, to hand out where an answer is to come.
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

  // At once; the dead, unreachable or forbidden answer by an exit (NoProcess,
  // NoConnection, NotPermitted). At limits::kLinksPerActorMax the exit says
  // Failed(ResourceExhausted).
  template <class T>
  void Link(const T& target) {
    LinkPid(PidOf(target));
  }
  // After it nothing of that link arrives, what was queued included; an exit that
  // the target sent by Exit does.
  template <class T>
  void Unlink(const T& target) {
    UnlinkPid(PidOf(target));
  }
  // Calls `handler` with a Down when the target ends, once; at once when it has
  // ended or cannot be reached. At limits::kMonitorsPerActorMax the Down says
  // Failed(ResourceExhausted).
  template <class T, class F>
  [[nodiscard]] MonitorHandle Monitor(const T& target, F handler) {
    return MonitorPid(PidOf(target), internal::MakeSharedHandler<Down>(std::move(handler)));
  }
  // For the process style, as are the other forms without a handler: a Receive
  // takes the Down, by On(handle, …) or On<Down>(…). In another actor it CHECKs
  // when the event comes.
  template <class T>
  [[nodiscard]] MonitorHandle Monitor(const T& target) {
    return MonitorPid(PidOf(target), nullptr);
  }
  // The same, but the Down comes when nothing of the actor is left, so that its object is never there beside whatever
  // is started then. Where that differs from its end: an actor that was killed while its handler ran is gone when the
  // handler has returned, and the object and its coroutine frames are destroyed; one of whose life LifeHolds are kept
  // (HoldLife), when the last is let go. An actor of another node is taken to be gone when it ends, or with its node.
  template <class T, class F>
  [[nodiscard]] MonitorHandle MonitorUntilGone(const T& target, F handler) {
    return MonitorPidUntilGone(PidOf(target), internal::MakeSharedHandler<Down>(std::move(handler)));
  }
  // Whether that is so now; what its destructors wrote is then seen. False for an actor of another node.
  bool IsGone(Pid actor) const;
  // While the result or a copy is kept, on any thread, this actor is not gone, though it has ended: something it began
  // goes on, such as a process that it stands for. It may outlive the system.
  [[nodiscard]] LifeHold HoldLife();

  // An exit signal: ends an actor that does not trap, at once; Normal ends
  // only oneself.
  template <class T>
  void Exit(const T& target, ExitReason reason) {
    ExitPid(PidOf(target), std::move(reason));
  }
  // Cannot be trapped; the others see Killed.
  template <class T>
  void Kill(const T& target) {
    KillPid(PidOf(target));
  }
  // Ends the target after what arrived before.
  template <class T>
  void RequestStop(const T& target, ExitReason reason = ExitReason::Shutdown()) {
    RequestStopPid(PidOf(target), std::move(reason));
  }

  // From now on exits are events for `handler` (const ExitEvent&), but a
  // parent's, which ends the actor in its place. Those that wait are for it too.
  template <class F>
  void TrapExits(F handler) {
    SetTraps(internal::MakeSharedHandler<ExitEvent>(std::move(handler)), nullptr);
  }
  // The parent's too: `parent_handler` begins to end the actor, which has
  // SpawnOptions::shutdown_within for it and is then killed.
  template <class F, class G>
  void TrapExits(F handler, G parent_handler) {
    SetTraps(internal::MakeSharedHandler<ExitEvent>(std::move(handler)),
             internal::MakeSharedHandler<ExitEvent>(std::move(parent_handler)));
  }
  // A Receive takes them (On<ExitEvent>); a parent's that none takes ends the
  // actor.
  void TrapExits() { SetTraps(nullptr, nullptr); }
  // RequestStop calls `handler` (const StopRequest&) and does not end the actor;
  // one that waits too.
  template <class F>
  void TrapStops(F handler) {
    SetStopHandler(internal::MakeSharedHandler<StopRequest>(std::move(handler)));
  }

  // Completes a start that began with StartResult::Starting.
  void FinishStart();
  // Declines one, as StartResult::Ignore() does.
  void DeclineStart();
  // Ends this actor when the handler returns or awaits. The first exit wins.
  // During Start it is a start that failed with `reason`.
  void Stop(ExitReason reason = ExitReason::Normal());
  // The same, for an actor that stands for something else, such as a process:
  // `reason` is why that ended, so this actor did not crash and leaves no CrashReport.
  void StopAs(ExitReason reason);

  // Become, that keeps the present behaviour below the new one, until Unbecome.
  // Like Become it takes effect when the handler returns or awaits; Become
  // itself replaces the top of the stack and leaves what lies below. Full at
  // limits::kBehaviorsStackedMax, FailedPrecondition before Start has given a
  // behaviour; then nothing changes.
  [[nodiscard]] absl::Status BecomeStacked(const Behavior& behavior);
  // Goes back to what lies below. FailedPrecondition when nothing does.
  [[nodiscard]] absl::Status Unbecome();

  // Closes the mailbox while the scoped close lives.
  [[nodiscard]] ScopedClose Close(const internal::MailboxBase& mailbox);
  // All mailboxes of the array, each by a scoped close of its own.
  [[nodiscard]] std::vector<ScopedClose> Close(const internal::MailboxArrayBase& mailboxes);
  // Closes it until the ask is over, by its reply, the callee's death, its
  // deadline, the session's end or Cancel, awaited or not; or until the scoped close is
  // destroyed, unless that is kept: `std::move(scoped close).Keep()`.
  template <class R>
  [[nodiscard]] ScopedClose Close(const internal::MailboxBase& mailbox, const Pending<R>& until) {
    return CloseUntil(mailbox, until.id());
  }
  // The message in hand goes back to its mailbox and is eligible again when the
  // behaviour changes, or at once when it has changed before the handler ends.
  // CHECKs when no message is in hand, when its handler took it by value, so that
  // it was moved from (take const M&; what a generic lambda does is not seen), and
  // when a call was answered, or its Replier is kept.
  void Postpone();
  // For a mailbox that is a classifier: the message in hand goes on, as
  // `message`, to another mailbox of this actor, where it is accepted anew, in
  // the order of passing. Its own disposition is "forwarded"; when the target is full
  // it is a dead letter, and its asker gets Full. A call goes with its Replier,
  // and keeps its asker and deadline. CHECKs when no message is in hand or it
  // has been forwarded.
  template <class M>
  void Forward(const internal::TypedMailbox<M>& target, std::type_identity_t<M> message) {
    ForwardPayload(target.index(), internal::Payload::ForMailbox<M>(std::move(message)), /*replier=*/nullptr);
  }
  template <class Q, class R>
  void Forward(const internal::TypedMailbox<Call<Q, R>>& target, std::type_identity_t<Q> request, Replier<R> replier) {
    ForwardPayload(target.index(), internal::Payload::ForMailbox<Q>(std::move(request)), &replier);
  }

  // Calls `handler` after `delay`, once. A timer of that name that runs is
  // replaced. Timers survive become. ResourceExhausted at
  // limits::kTimersPerActorMax.
  template <class F>
  absl::Status StartTimer(absl::string_view name, absl::Duration delay, F handler) {
    return StartNamedTimer(name, delay, internal::MakeSharedHandler<TimerEvent>(std::move(handler)));
  }
  // A Receive takes it (On<TimerEvent>).
  absl::Status StartTimer(absl::string_view name, absl::Duration delay) {
    return StartNamedTimer(name, delay, nullptr);
  }
  // Awaits OK after `delay`; meanwhile the actor does what it does while a handler
  // awaits.
  //
  //   auto pause = context().Sleep(absl::Seconds(1));
  //   absl::Status slept = co_await pause;
  //
  // Expired when the deadline of the call in hand comes first, Full at
  // limits::kAsksPerActorMax.
  Sleeping Sleep(absl::Duration delay);
  // After it the timer's event does not come. False when none of that name ran.
  bool CancelTimer(absl::string_view name);

  // Takes a name of this node for this actor; it goes when the actor ends.
  // AlreadyExists, InvalidArgument; FailedPrecondition in a constructor, as
  // mailboxes are known when that has run.
  [[nodiscard]] absl::Status Register(absl::string_view name);
  // Takes a name of the cluster. OK means that the name is free as far as this
  // node knows. A peer knows the name only if it grants it to this node: without
  // an entry in its NodeOptions::grants that is names below NODE/, or any name
  // where the peers trust each other (grants.h). A peer that does not logs it.
  // When the answer is an error, this node gives the name up too, also one that
  // Register had taken. In a constructor as Register.
  Pending<void> Publish(absl::string_view name);
  // Gives a name of either kind up.
  void Unregister(absl::string_view name);
  // For supervisors: keeps the name for a child of this actor, whatever
  // `keep.keeper` says, until FreeName or the end of this actor (registry.h).
  void KeepName(NameKeep keep);
  void FreeName(absl::string_view name);
  // Waits for the name to be there, at most `timeout` (then NoName, or Restarting
  // while its owner is being restarted), and gives a ref bound to its owner. FailedPrecondition when the owner lacks a
  // mailbox that R uses, InvalidArgument for what can be no name.
  template <class R>
  PendingLookup<R> Lookup(absl::string_view name, absl::Duration timeout) {
    return PendingLookup<R>(StartLookup(name, timeout));
  }
  // Calls `handler` (const NameChange&) for the present owner, if any, and each
  // change after that, as long as this actor lives.
  template <class F>
  void WatchName(absl::string_view name, F handler) {
    StartNameWatch(name, internal::MakeSharedHandler<NameChange>(std::move(handler)));
  }

  // A Receive takes them (On<NameChange>).
  void WatchName(absl::string_view name) { StartNameWatch(name, nullptr); }

  // For Actor.
  internal::ActorCore& core() { return core_; }

  // The mailboxes of this actor as others see them: none while its constructor
  // runs.
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
  // `replier` is null for a tell.
  void ForwardPayload(int mailbox, internal::Payload payload, internal::ReplierBase* replier);
  absl::Status StartNamedTimer(absl::string_view name, absl::Duration delay,
                               std::shared_ptr<internal::MessageHandler> handler);
  uint32_t WireHashOf(const internal::MailboxBase& mailbox) const;
  ScopedClose CloseUntil(const internal::MailboxBase& mailbox, const internal::PendingId& pending);
  internal::PendingId StartLookup(absl::string_view name, absl::Duration timeout);
  void StartNameWatch(absl::string_view name, std::shared_ptr<internal::MessageHandler> handler);

  internal::ActorCore& core_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_CONTEXT_H_

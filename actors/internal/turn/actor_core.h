// ActorCore: the owner's side of one actor's life: its mailboxes, behavior, handlers in progress, links, timers and
// asks.
//
// A turn (Run) takes what has arrived, applies signals, sorts messages and events by arrival, and handles what is
// eligible. An ActorCore lies inside its ActorCell. State that few actors need, or need only at times, is in Rare
// (actor_rare.h), which exists from its first use.
//
// Threads: all functions are for the owner's turn. A call that comes from a handler enters the kernel with KernelCode
// (scheduling/worker.h), and the kernel runs user code under UserCode. Exceptions: any thread may call Spawn; a sender
// that has claimed the idle actor calls TakeHanded; and another thread calls Fence, IsStarting and Describe while it
// holds this actor's thread in user code.
//
// Invariants between the fields:
//  1. kIsNotRunning is set exactly as long as stage_ is not kRunning; BecomeStarted changes both.
//  2. kIsFenced implies kHasExit, is_killed_ and is_ending_; is_ending_ implies kHasExit. None of them is ever cleared.
//  3. spawn_arguments_ is the union's member until Construct has taken it; from then on last_stamp_ is.
//  4. in_hand_ is an Envelope only between turns and at the beginning of a turn; otherwise an Activation or null.
//  5. While is_linked_to_parent_ is set, LinkTable does not have the link to the parent; links() moves it there.
//  6. Bit i of has_mail_ is set exactly if mailbox i's queue has a message that is not postponed.
//
// Sources: actor_core.cc (turn, due times), actor_queues.{h,cc} (mailboxes), actor_choice.cc (what is next),
// actor_handling.{h,cc} (handlers), actor_signals.cc (links, exits, monitors), actor_receive.cc (the process style),
// actor_behaviors.cc (become), actor_forwarding.cc (classifiers), actor_ledger.cc, actor_unhandled_mail.cc,
// actor_asks.cc (asks and names), actor_life.cc (start), actor_end.cc, actor_crash.cc.
//
// The parts are classes of their own, and their tests need no actor. Tested in tests/actors/core: event_queue.h,
// activations.h, behavior_stack.h, exits.h, watches.h, actor_timers.h, closed_mailboxes.h, rank_turns.h, and
// postponed_mail.h (in envelope_ring_test.cc). Tested in tests/actors: link_table.h, ask_table.h.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_CORE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_CORE_H_

#include <coroutine>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/internal/turn/activation.h"
#include "understudy/actors/internal/turn/actor_rare.h"
#include "understudy/actors/internal/turn/exceptions.h"
#include "understudy/actors/internal/turn/hook.h"
#include "understudy/actors/internal/turn/rank_turns.h"
#include "understudy/actors/unhandled_mail.h"

namespace understudy::internal {

class FixedText;

// The answer to a call of `callee` whose Replier was destroyed unused.
absl::Status UnansweredError(Pid callee);

class ActorCore final : public CellOwner {
 public:
  // Allocates a cell in `system`, opens it for a new actor, and schedules that actor's first turn, which calls `make`.
  // If `has_failed` is set, the actor ends with that reason instead. Any thread.
  static Pid Spawn(SystemCore& system, Pid parent, SpawnOptions&& options, MakeActor&& make,
                   SpawnNotifications notifications = {}, absl::optional<ExitReason> has_failed = absl::nullopt);

  // Runnable.
  void Run() override;
  std::string Describe() override;
  // For the fatal signal report: writes the actor's pid to `who`, and its class, names and current handler to `at`.
  // Async-signal-safe. Call on the thread that runs the actor's turn.
  void DescribeForSignal(FixedText& who, FixedText& at);
  // CellOwner.
  void Fence(ExitReason reason) override;
  bool IsStarting() const override;
  void HasDeferred() override { Set(kHasDeferred); }
  void DrainSoon() override { Set(kDrainsSoon); }

  // Called by a sender that has claimed the idle actor (ActorCell::Hand). `envelope` is the first message of its next
  // turn.
  void TakeHanded(Envelope* envelope) { in_hand_ = envelope; }

  // The functions from here to `private` are for Actor, Context and the awaitables.
  //
  // The actor whose turn runs on this thread. CHECKs that there is one.
  static ActorCore& OfThisTurn();
  // Null when `pid` is not the actor of this turn.
  static ActorCore* OfThisTurn(Pid pid);
  // In debug builds, CHECKs that this thread runs this actor's turn.
  void CheckTurn() const {
    UNDERSTUDY_DCHECK(ThisTurn().actor() == this, "context() of ", self().ToString(), " is used outside its turn");
  }

  // The system of the turn that runs on this thread.
  SystemCore& system() { return *ThisTurn().system; }
  Pid self() const { return const_cast<ActorCore*>(this)->cell().pid(); }
  Pid parent() const { return Pid::OfLife(parent_life_, parent_cell_); }
  Random& random();
  std::vector<MailboxSignature> Signatures();
  // The hash of the wire name of `mailbox`. CHECKs that the actor's constructor has run.
  uint32_t WireHashOf(int mailbox);

  // Notes that a clause names the mailbox. Matters only while Start runs.
  void NameInClause(int mailbox);
  // `table` becomes the behavior when the handler returns or awaits.
  void Become(BehaviorPtr table);
  void Fail(absl::Status status);
  void Stop(ExitReason reason);
  void StopAs(ExitReason reason);
  void FinishStart();
  void DeclineStart();

  Pid SpawnChild(SpawnOptions&& options, MakeActor&& make);
  void Link(Pid peer);
  void Unlink(Pid peer);
  uint64_t Monitor(Pid target, std::shared_ptr<MessageHandler> handler);
  uint64_t MonitorUntilGone(Pid target, std::shared_ptr<MessageHandler> handler);
  void Demonitor(uint64_t id);

  // The actor's parts, each allocated at its first use.
  EventQueue& events() { return rare().events; }
  ActorTimers& timers();
  Exits& exits();
  AskTable& asks() { return ABSL_PREDICT_TRUE(known_asks() != nullptr) ? *known_asks() : MakeAsks(); }
  BehaviorStack& behaviors() { return rare().behaviors; }
  ClosedMailboxes& closed() { return rare().closed; }
  // The current behavior. Null if none has been entered yet, or the end has dropped it.
  const BehaviorPtr& behavior() const { return behavior_; }

  void Postpone();
  bool IsBoundedInBytes(int mailbox) { return layout()[static_cast<size_t>(mailbox)].has_bytes(); }
  // Puts `payload`, which is the message in hand or was made from it, into `mailbox` of this actor. If the message in
  // hand is a call, `call` identifies it, and the right to answer goes along. The block of `payload` must have a call
  // part. `bytes` is the payload's size if the mailbox is bounded in bytes, else 0.
  void Forward(int mailbox, Payload payload, uint64_t bytes, CallInHand call);

  // Adds an ask to the table of asks; a reply or Answered gives it its answer. The id is 0 if the table is full:
  // awaiting that ask gives Full.
  PendingId NewAsk(Pid callee, MonotonicTime deadline);
  // Returns false if ask `id` already had an answer or is gone.
  bool Answered(uint64_t id, absl::Status status, Payload payload);
  // The smaller of `timeout` from now and the deadline of the call in hand.
  MonotonicTime DeadlineWithin(absl::Duration timeout);
  // True if ask `id` has an answer or is no longer in the table, so awaiting it would not suspend.
  bool IsAnswered(uint64_t id) const;
  void AwaitAnswer(uint64_t id, std::coroutine_handle<> waiter);
  void AwaitGroup(absl::Span<const PendingId> pendings, GroupWait& wait, std::coroutine_handle<> waiter);
  Answer TakeAnswer(const PendingId& pending);
  // Gives up ask `id`: tells its callee, and makes Cancelled its answer.
  void CancelAsk(uint64_t id);
  // Keeps `mailbox` closed until ask `id` is answered. Returns false, and closes nothing, if there is no answer to wait
  // for.
  bool CloseUntilAnswered(int mailbox, uint64_t id);

  PendingId StartLookup(absl::string_view name, absl::Duration timeout);
  // Expires at `until`, or at the deadline of the call in hand if that is earlier.
  PendingId StartSleep(MonotonicTime until);
  PendingId Publish(absl::string_view name, Pid kept_by = Pid());
  absl::Status Register(absl::string_view name, Pid kept_by = Pid());
  void KeepName(NameKeep keep);
  void WatchName(absl::string_view name, std::shared_ptr<MessageHandler> handler);

  void BeginReceive(BehaviorPtr table, std::coroutine_handle<> waiter);

  // Why the actor ends; null until its end is decided. A Replier that is destroyed after that answers with this reason.
  const ExitReason* ending() const;
  // A Replier for the call `ask` of `asker` was destroyed unused. If that call is in hand, its handler's result becomes
  // its answer again. Returns false if another message, or none, is in hand.
  bool TakeBackAnswer(Pid asker, uint64_t ask);
  // Records that this actor has a Replier, so that Fence can answer the Replier's call.
  void HoldRight(HeldRight held) { rare().rights.Add(std::move(held)); }
  // Sends a call's answer, whose block carries the ask's id.
  void SendReply(Pid asker, Envelope* block);

 private:
  friend class Activation;
  // A message that may be handled next, and the clause that would take it.
  struct Choice {
    Envelope* envelope = nullptr;
    Envelope* before = nullptr;  // precedes `envelope` in the ring of its mailbox
    size_t clause = 0;
  };
  // A turn drains the inbox once per this many messages, because the head of the inbox is on a cache line that senders
  // write. So a signal that arrives during a turn waits for at most this many messages.
  static constexpr int kDrainEvery = 32;
  enum class Stage : uint8_t { kConstructing, kStarting, kStartingOpen, kRunning };

  // Reasons why a turn may not simply handle the oldest message.
  enum Obstacle : uint8_t {
    kIsNotRunning = 1,  // stage_ is not kRunning
    kIsNotSimple = 2,   // the behavior has guards, ranks or the like
    kHasExit = 8,       // the actor ends when its handler has returned
    kIsFenced = 16,     // the life is over for all others, but its handler still runs
    kHasDeferred = 32,  // kernel code has let go of user objects, which Sweep is to destroy
    kDrainsSoon = 64,   // the inbox is to be drained before the next message is handled
  };

  explicit ActorCore(Pid parent);
  ~ActorCore();

  bool has_exit() const { return (obstacles_ & kHasExit) != 0; }
  bool is_fenced() const { return (obstacles_ & kIsFenced) != 0; }
  bool has_deferred() const { return (obstacles_ & kHasDeferred) != 0; }
  bool has_postponed() const { return rare_ != nullptr && !rare_->postponed.empty(); }
  // True if this actor handles nothing more.
  bool ends() const { return (obstacles_ & (kHasExit | kIsFenced)) != 0; }
  void Set(Obstacle obstacle, bool is_there = true) {
    obstacles_ = static_cast<uint8_t>(is_there ? obstacles_ | obstacle : obstacles_ & ~obstacle);
  }

  Activation* current() { return static_cast<Activation*>(in_hand_); }
  void SetCurrent(Activation* activation) { in_hand_ = activation; }
  ActorCell& cell() { return *ActorCell::Of(this); }
  uint64_t life() const { return const_cast<ActorCore*>(this)->cell().owners_life(); }
  const MailboxLayout& layout() { return *cell().layout(); }
  Rare& rare();

  // actor_core.cc: the turn.
  bool TakeTurn(CurrentTurn& turn, int budget);
  bool TryRest(const CurrentTurn& turn);
  bool HandleNext();
  void FindMailboxes(CurrentTurn& turn);
  void DrainInbound(CurrentTurn& turn);
  bool PublishRoom(CurrentTurn& turn);
  void Sweep();
  void ActOn(Envelope* envelope);
  void OnStale(Envelope* envelope);
  uint64_t OpenMask();
  template <class F>
  ABSL_ATTRIBUTE_ALWAYS_INLINE void InUserCode(F&& code) {
    UserCode user(*ThisWorker());
    code();
  }
  // Runs `code` as user code. Returns the exception that left it, or null.
  template <class F>
  ABSL_ATTRIBUTE_ALWAYS_INLINE std::exception_ptr CaughtInUserCode(F&& code) {
    UserCode user(*ThisWorker());
    return Caught(code);
  }

  // actor_queues.h, actor_queues.cc.
  bool HandlesOldest() const;
  void Enqueue(const CurrentTurn& turn, Envelope* envelope);
  Envelope* Parsed(Envelope* envelope);
  void ReleaseRemote(CurrentTurn& turn, Envelope* envelope);
  // Tells the router about the messages of another node that have left a mailbox and that `turn.left_remote` counts.
  void TellReleased(CurrentTurn& turn);
  void LeaveEarly(const Envelope& envelope);
  void DropOverflow(size_t place);
  // Counts a message as having left its mailbox.
  void Leave(CurrentTurn& turn, Queue& queue, size_t place, Envelope* envelope);
  void TakeOut(CurrentTurn& turn, Queue& queue, size_t place, Envelope* envelope, Envelope* before);
  void Leave(Envelope* envelope);
  // Takes `envelope` out of the ring of `newest`, which is one of Rings. `before` precedes it there.
  void TakeOut(Envelope*& newest, Envelope* envelope, Envelope* before);
  // The non-empty rings in which messages of mailbox `place` wait, each given by its newest: the postponed messages,
  // then the others.
  absl::InlinedVector<Envelope**, 2> Rings(size_t place);
  void PutBack(Envelope* envelope, bool waits_for_change);
  void ReturnPostponed();
  void PublishLimits(CurrentTurn& turn);
  bool CancelWaiting(Pid asker, uint64_t ask);
  Disposition DispositionOfCancelled(MonotonicTime deadline);
  void WatchExpiry();
  void ExpireWaitingMessages();
  void ExpireWaitingMessages(size_t place);
  void Dispose(Envelope* envelope, Disposition disposition, const absl::Status& why);
  void TellOfLoss(Envelope* envelope, Disposition disposition, const absl::Status& why);

  // actor_unhandled_mail.cc.
  uint64_t HeirsMonitor() const;
  bool IsKept(const Envelope& envelope);
  bool KeepEarly(Envelope* envelope);
  UnhandledMail LeaveUnhandledMail(std::vector<Envelope*> kept, const ExitReason& reason);
  void TakeUnhandledMail();
  bool TakeMail(const MailOfActor& mail, Envelope* envelope);

  // actor_ledger.cc: counts of every disposition except handled, which is counted in the mailbox's queue.
  LedgerBook::Counts& LedgerOf(size_t place);
  void Count(size_t place, Disposition disposition);
  // A message counts as in hand from the call of a coroutine handler until that handler has ended or it is forwarded:
  // meanwhile it has left its mailbox and has no disposition yet.
  void CountInHand(Activation& activation);
  void CountOutOfHand(Activation& activation);

  // actor_choice.cc.
  bool HandleOne();
  bool IsQuiet() const;
  BehaviorTable* Effective();
  uint64_t closed_mask() const { return ABSL_PREDICT_TRUE(rare_ == nullptr) ? 0 : rare_->closed.mask(); }
  using Choices = absl::InlinedVector<Choice, 8>;
  Choices Candidates(BehaviorTable& table);
  size_t ClauseThatTakes(BehaviorTable& table, size_t first, const Envelope& message, const ClauseSet& guards);
  void AddCandidates(BehaviorTable& table, size_t place, const ClauseSet& guards, Choices& candidates);
  Choice ChooseByRank(const BehaviorTable& table, const Choices& candidates);
  ClauseSet HoldingGuards(const BehaviorTable& table);

  // actor_handling.h, actor_handling.cc.
  void HandleOldest(CurrentTurn& turn, uint64_t waiting);
  void HandleHanded(CurrentTurn& turn, Envelope* envelope);
  static bool RunsAtOnce(const BehaviorTable& table, const MessageHandler& handler);
  void HandleMessage(BehaviorTable& table, const Choice& choice);
  void HandleTaken(Envelope* envelope, BehaviorTable& table, size_t clause);
  void HandleAtOnce(CurrentTurn& turn, Queue& queue, Envelope* envelope, MessageHandler& handler);
  const std::shared_ptr<MessageHandler>& HandlerOf(const Event& event) const;
  void HandleEvent();
  void RunEvent(Event event, std::shared_ptr<MessageHandler> handler, bool ends_receive);
  bool IsExpired(const Envelope& envelope, absl::Status& why);
  bool IsStale(const Event& event) const;
  void RunHandler(CurrentTurn& turn, Queue* queue, Activation& activation, MessageHandler& handler);
  void RunAwaiting(std::unique_ptr<Activation> activation, MessageHandler& handler);
  void Resume(Waiter waiter);
  void AfterStep(Activation& activation);
  void Settle(Queue* queue, Activation& activation);
  void SettleUnusual(Activation& activation);
  void SettlePostponed(Activation& activation);
  void Trace(absl::string_view what, const Activation& activation);

  // actor_behaviors.cc.
  void ApplyBecome();
  void ChangeBehavior();
  void EnterBehavior(BehaviorPtr table);
  void RunHook(Hook& hook);

  // actor_receive.cc.
  bool IsReceiving() const { return rare_ != nullptr && rare_->activations.IsReceiving(); }
  bool ReceiveOne(BehaviorTable& table);
  bool TakeEvents(BehaviorTable& table, uint64_t before, bool& has_timeout);
  const EventEntry* ClauseFor(const BehaviorTable& table, const Event& event);
  void TakeTimeout();
  void BeginRound(Activation& activation);

  // actor_signals.cc.
  void Act(Signal signal);
  bool HasRoomForLink(Pid peer);
  void OnLinkSignal(const Signal& signal);
  void OnExitSignal(const Signal& signal);
  void OnDownSignal(Signal signal);
  uint64_t BeginMonitor(uint64_t id, Pid target, std::shared_ptr<MessageHandler> handler);
  void TellOfDemonitor(uint64_t id, Pid target);
  Watches& watches();
  // Null if the actor has no Exits yet.
  const Exits* known_exits() const { return rare_ == nullptr ? nullptr : rare_->exits.get(); }
  // The actor's Exits; if it has none yet, a shared one with the defaults.
  const Exits& KnownExits() const;
  void OnDemonitor(const Signal& signal);
  void TellOfRefusedSpawn(Pid pid, SpawnLink link, const SpawnNotifications& notifications, SpawnOptions& options);
  void OnOutcome(SpawnReport report);
  bool EndsLink(Pid peer);
  void OnRequestStop(const Signal& signal);
  // Stamps `event` and queues it. Returns false if it was merged with waiting events instead.
  bool AddEvent(Event event);
  // What ends an actor: its own code (Fail, Stop, an exception); something of its own that happened outside its code
  // (an overflow, an exit that it sent to itself); an exit, request to stop or timeout from elsewhere; or a Kill.
  enum class ExitCause : uint8_t { kOwn, kOwnOutside, kTold, kKill };
  void SetExit(ExitReason reason, ExitCause cause);
  LinkTable& links();

  // actor_asks.cc: asks; names are there too.
  AskTable& MakeAsks();
  // Null if the actor has never asked.
  AskTable* known_asks() const { return rare_ == nullptr ? nullptr : rare_->asks.get(); }
  void CancelAsksFor(const Activation& activation);
  void ExpireAsks(MonotonicTime now);
  void ExpireAsk(uint64_t id);
  // Ends what ask `id` keeps up until it is answered: its watch of a name, and the closes of mailboxes. A name that it
  // was to publish is removed from this node's registry, unless `has_good_answer`.
  void SettleNotes(uint64_t id, bool has_good_answer);
  void TellCallee(uint64_t id);
  bool StopWaitingForNode(uint64_t id);
  void TellOfWait(uint64_t id);
  void DropAsks();

  // actor_core.cc: when the actor's timers and asks are due.
  ActorTimers::Time ReadClocks() { return {.now = system().clock().Now(), .wall = system().clock().WallNow()}; }
  void FireTimers();
  bool RunsOn(const Event& event);
  void ArmExecutor();
  void DisarmExecutor();
  // Enters the timers of `table`. `at_once` is as in ActorTimers::Enter.
  void EnterTimersOf(const BehaviorTable& table, std::shared_ptr<MessageHandler>* at_once = nullptr);

  // actor_life.cc.
  struct Starter;
  absl::Duration shutdown_within() const;
  bool Construct();
  void AdmitEarly(Envelope* envelope);
  void BeginStart();
  void Decide(StartResult next);
  void RunStart(absl::optional<StartResult> next);
  RootTask StartSequence(Activation& activation, absl::optional<StartResult> begun);
  Task<absl::optional<ExitReason>> TakeNames();
  // Names the mailboxes in rare_->unhandled_mailboxes.
  absl::Status UnhandledMailboxesError();
  void BecomeStarted();
  void TellOutcome(SpawnReport::Kind kind, const ExitReason& reason);

  // actor_end.cc.
  ExitReason reason() const;
  void End();
  void EndLife(const ExitReason& reason);
  void FinishFenced();
  void DropActivations(const ExitReason& reason);
  void DropHandlers();
  void LeaveRegistry(const ExitReason& reason);
  // Both dispose of waiting messages as dead letters. If `kept` is not null, messages that the successor is to get are
  // appended to it instead.
  void BuryWaiting(const ExitReason& reason, std::vector<Envelope*>* kept);
  void Bury(Envelope* rest, const ExitReason& reason, std::vector<Envelope*>* kept);
  void BuryEnded(Signal& signal);
  void SettleFenced(Activation* activation, const ExitReason& reason);
  void TellOfEnd(const ExitReason& reason, UnhandledMail unhandled_mail, uint64_t heirs_monitor);
  void TellChildrenOfEnd(const ExitReason& reason);
  void Free();

  // actor_crash.cc.
  void KeepMessage(const Activation& activation);
  void NoteCrash(ExitCause cause);
  // How reports and descriptions name the coroutine that Start returned.
  absl::string_view StartName() const { return is_process_ && stage_ == Stage::kRunning ? "its process" : "Start"; }
  void ReportCrash();
  // Logs `line` as an error.
  void LogError(absl::string_view line);

  uint32_t parent_cell_ = 0;
  uint64_t parent_life_ = 0;
  std::unique_ptr<Actor> actor_;
  BehaviorPtr behavior_;
  std::unique_ptr<Rare> rare_;  // made at first use
  union {
    SpawnArguments* spawn_arguments_ = nullptr;  // until the constructor runs
    uint64_t last_stamp_;                        // then
  };
  uint64_t has_mail_ = 0;  // bit i: messages that are not postponed wait in mailbox i
  // In a turn: the handler that runs, an Activation. Between turns: a message that is on its way past its mailbox, an
  // Envelope. Or null.
  void* in_hand_ = nullptr;
  RankTurns rank_turns_;
  Stage stage_ = Stage::kConstructing;
  uint8_t obstacles_ = kIsNotRunning | kIsNotSimple;
  bool is_killed_ : 1 = false;
  bool is_ending_ : 1 = false;            // nothing can arrive any more
  bool is_ignored_ : 1 = false;           // Start declined
  bool is_process_ : 1 = false;           // Start gave a body
  bool is_linked_to_parent_ : 1 = false;  // and the link is not in LinkTable
  bool is_tied_to_parent_ : 1 = false;    // SpawnLink::kOneWay
  bool has_names_ : 1 = false;
};
static_assert(sizeof(ActorCore) <= ActorCell::kOwnerBytes);

inline ActorCore* CurrentTurn::actor() const {
  return cell == nullptr ? nullptr : static_cast<ActorCore*>(cell->owner());
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_CORE_H_

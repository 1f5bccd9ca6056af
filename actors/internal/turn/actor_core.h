// ActorCore: the owner's side of one actor's life: its mailboxes, behavior, handlers in progress, links, timers and
// asks.
//
// A turn (Run) takes what has arrived, applies signals, sorts messages and events by arrival, and handles what is
// eligible. An ActorCore lies inside its ActorCell. State that few actors need, or need only at times, is in Rare
// (actor_rare.h), which exists from its first use.
//
// Threads: all functions are for the owner's turn. A call that comes from a handler enters the kernel with KernelCode
// (scheduling/worker.h), and the kernel runs user code under UserCode. Exceptions: any thread may call Spawn; a sender
// that has claimed the idle actor calls TakeHanded; another thread calls Fence, IsStarting, Describe and Inspect while
// it holds this actor's thread in user code, and Inspect while it holds the idle actor (ActorCell::WhileIdle).
//
// Invariants between the fields:
//  1. kIsNotRunning is set exactly as long as start_ has not started; BecomeStarted changes both.
//  2. kIsFenced implies kHasExit, is_killed_ and is_ending_; is_ending_ implies kHasExit. None of them is ever cleared.
//  3. spawn_arguments_ is the union's member until Construct has taken it; from then on last_stamp_ is.
//  4. in_hand_ is an Envelope only between turns and at the beginning of a turn; otherwise an Activation or null.
//  5. While parent_ has the link to the parent, LinkTable does not have it; links() moves it there.
//  6. Bit i of has_mail_ is set exactly if mailbox i's queue has a message that is not postponed.
//
// Sources: actor_core.cc (turn, due times), actor_queues.{h,cc} (mailboxes), actor_choice.cc (what is next),
// actor_handling.{h,cc} (handlers), actor_receive.cc (the process style), actor_behaviors.cc (become),
// actor_forwarding.cc (classifiers), actor_unhandled_mail.cc, actor_life.cc (start), actor_end.cc, actor_crash.{h,cc}
// (reports). Functions that use only what is public here: actor_asks.{h,cc}, actor_disposal.{h,cc} (the ledger,
// messages that no handler gets), actor_names.{h,cc}, actor_signals.{h,cc} (links, exits, monitors, children).
//
// The parts are classes of their own, and their tests need no actor. Tested in tests/actors/core: activations.h,
// actor_start.h, actor_timers.h, behavior_stack.h, closed_mailboxes.h, crash_notes.h, event_queue.h, exits.h,
// parent_tie.h, rank_turns.h, watches.h, and postponed_mail.h (in envelope_ring_test.cc). Tested in tests/actors:
// ask_table.h, link_table.h.
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
#include "understudy/actors/actor.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/internal/turn/activation.h"
#include "understudy/actors/internal/turn/actor_rare.h"
#include "understudy/actors/internal/turn/actor_start.h"
#include "understudy/actors/internal/turn/crash_notes.h"
#include "understudy/actors/internal/turn/exceptions.h"
#include "understudy/actors/internal/turn/hook.h"
#include "understudy/actors/internal/turn/parent_tie.h"
#include "understudy/actors/internal/turn/rank_turns.h"
#include "understudy/actors/unhandled_mail.h"

namespace understudy {
struct ActorInfo;
}  // namespace understudy

namespace understudy::internal {

class FixedText;

// What ends an actor: its own code (Fail, Stop, an exception); something of its own that happened outside its code (an
// overflow, an exit that it sent to itself); an exit, request to stop or timeout from elsewhere; or a Kill.
enum class ExitCause : uint8_t { kOwn, kOwnOutside, kTold, kKill };

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
  // Writes to `info` what the state of the owner says (actor_info.h). For the thread that holds the idle actor
  // (ActorCell::WhileIdle), or holds this actor's thread in user code.
  void Inspect(ActorInfo& info) const;
  // Likewise, the links and monitors.
  void InspectTies(ActorInfo& info) const;
  // CellOwner.
  void Fence(ExitReason reason) override;
  bool IsStarting() const override;
  void HasDeferred() override { Set(kHasDeferred); }
  void DrainSoon() override { Set(kDrainsSoon); }

  // Called by a sender that has claimed the idle actor (ActorCell::Hand). `envelope` is the first message of its next
  // turn.
  void TakeHanded(Envelope* envelope) { in_hand_ = envelope; }

  // The functions from here to `private` are for Actor, Context, the awaitables, and the functions in the actor_*.h
  // that act for an actor.
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
  Pid parent() const { return parent_.parent(); }
  Random& random();

  // Notes that a clause names the mailbox. Matters only while Start runs.
  void NameInClause(int mailbox);
  // `table` becomes the behavior when the handler returns or awaits.
  void Become(BehaviorPtr table);
  // The actor handles nothing more, and ends with `reason` when its handler has returned. The first call counts.
  void SetExit(ExitReason reason, ExitCause cause);
  // Stamps `event` and queues it. Returns false if it was merged with waiting events instead.
  bool AddEvent(Event event);
  void FinishStart();
  void DeclineStart();

  // The actor's parts, each allocated at its first use. Those that are `known` may not exist yet.
  ParentTie& parent_tie() { return parent_; }
  EventQueue& events() { return rare().events; }
  ActorTimers& timers();
  Exits& exits();
  // The actor's Exits; if it has none yet, a shared one with the defaults.
  const Exits& known_exits() const;
  AskTable& asks() { return ABSL_PREDICT_TRUE(known_asks() != nullptr) ? *known_asks() : MakeAsks(); }
  // Null if the actor has never asked.
  AskTable* known_asks() const { return rare_ == nullptr ? nullptr : rare_->asks.get(); }
  Activations& activations() { return rare().activations; }
  Watches& watches();
  // Null if the actor has never watched anything.
  Watches* known_watches() const { return rare_ == nullptr ? nullptr : rare_->watches.get(); }
  HeldRights& rights() { return rare().rights; }
  CrashNotes& crash_notes();
  // The counts of every disposition except handled.
  LedgerBook::Page& ledger();
  LinkTable& links();
  BehaviorStack& behaviors() { return rare().behaviors; }
  ClosedMailboxes& closed() { return rare().closed; }
  // The current behavior. Null if none has been entered yet, or the end has dropped it.
  const BehaviorPtr& behavior() const { return behavior_; }

  void Postpone();
  // Puts `payload`, which is the message in hand or was made from it, into `mailbox` of this actor. If the message in
  // hand is a call, `call` identifies it, and the right to answer goes along. The block of `payload` must have a call
  // part. `bytes` is the payload's size if the mailbox is bounded in bytes, else 0.
  void Forward(int mailbox, Payload payload, uint64_t bytes, CallInHand call);

  // The handler that runs. Null if none does, as in a guard or the constructor.
  Activation* current() const { return static_cast<Activation*>(in_hand_); }
  const MailboxLayout& layout() const { return *const_cast<ActorCore*>(this)->cell().layout(); }
  const StartProgress& start() const { return start_; }
  // What the spawn left; an empty record if it left nothing.
  const SpawnRecord& spawn_record() const;
  // Also for another thread that holds this actor's thread in user code, and async-signal-safe.
  Occupation occupation() const;
  // Records that the registry may know names of this actor, or names that it keeps, which end with it.
  void NoteNames() { has_names_ = true; }

  void BeginReceive(BehaviorPtr table, std::coroutine_handle<> waiter);

  // The asker of a call has cancelled it. Cancels the call, which may wait in a mailbox or be in hand, or arrive later.
  void CancelCall(Pid asker, uint64_t ask);

  // True if the actor handles nothing more, because its end has been decided.
  bool has_exit() const { return (obstacles_ & kHasExit) != 0; }
  // True if the life is over for all others, but its handler still runs.
  bool is_fenced() const { return (obstacles_ & kIsFenced) != 0; }
  // True once the end has begun: nothing can arrive any more.
  bool is_ending() const { return is_ending_; }
  // Why the actor ends; null until its end is decided. A Replier that is destroyed after that answers with this reason.
  const ExitReason* ending() const;

 private:
  // A message that may be handled next, and the clause that would take it.
  struct Choice {
    Envelope* envelope = nullptr;
    Envelope* before = nullptr;  // precedes `envelope` in the ring of its mailbox
    size_t clause = 0;
  };
  // A turn drains the inbox once per this many messages, because the head of the inbox is on a cache line that senders
  // write. So a signal that arrives during a turn waits for at most this many messages.
  static constexpr int kDrainEvery = 32;

  // Reasons why a turn may not simply handle the oldest message.
  enum Obstacle : uint8_t {
    kIsNotRunning = 1,  // the actor has not started
    kIsNotSimple = 2,   // the behavior has guards, ranks or the like
    kHasExit = 8,       // the actor ends when its handler has returned
    kIsFenced = 16,     // the life is over for all others, but its handler still runs
    kHasDeferred = 32,  // kernel code has let go of user objects, which Sweep is to destroy
    kDrainsSoon = 64,   // the inbox is to be drained before the next message is handled
  };

  explicit ActorCore(const ParentTie& parent);
  ~ActorCore();

  bool has_deferred() const { return (obstacles_ & kHasDeferred) != 0; }
  bool has_postponed() const { return rare_ != nullptr && !rare_->postponed.empty(); }
  // True if this actor handles nothing more.
  bool ends() const { return (obstacles_ & (kHasExit | kIsFenced)) != 0; }
  void Set(Obstacle obstacle, bool is_there = true) {
    obstacles_ = static_cast<uint8_t>(is_there ? obstacles_ | obstacle : obstacles_ & ~obstacle);
  }

  void SetCurrent(Activation* activation) { in_hand_ = activation; }
  ActorCell& cell() { return *ActorCell::Of(this); }
  uint64_t life() const { return const_cast<ActorCore*>(this)->cell().owners_life(); }
  Rare& rare();

  // actor_core.cc: the turn, and the parts that are made at their first use.
  AskTable& MakeAsks();
  bool TakeTurn(CurrentTurn& turn, int budget);
  bool TryRest(const CurrentTurn& turn);
  bool HandleNext();
  void DrainInbound(CurrentTurn& turn);
  bool PublishRoom(CurrentTurn& turn);
  void Sweep();
  void ActOn(Envelope* envelope);
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
  void WatchExpiry();
  void ExpireWaitingMessages();
  void ExpireWaitingMessages(size_t place);

  // actor_unhandled_mail.cc.
  uint64_t HeirsMonitor() const;
  bool KeepEarly(Envelope* envelope);
  UnhandledMail LeaveUnhandledMail(std::vector<Envelope*> kept, const ExitReason& reason);
  void TakeUnhandledMail();
  bool TakeMail(const MailOfActor& mail, Envelope* envelope);

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
  bool IsStale(const Event& event) const;
  void RunHandler(CurrentTurn& turn, Queue* queue, Activation& activation, MessageHandler& handler);
  void RunAwaiting(std::unique_ptr<Activation> activation, MessageHandler& handler);
  void Resume(Waiter waiter);
  void AfterStep(Activation& activation);
  void Settle(Queue* queue, Activation& activation);
  void SettleUnusual(Activation& activation);
  void SettlePostponed(Activation& activation);

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
  bool Construct();
  void AdmitEarly(Envelope* envelope);
  void BeginStart();
  void Decide(StartResult next);
  void RunStart(absl::optional<StartResult> next);
  RootTask StartSequence(Activation& activation, absl::optional<StartResult> begun);
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
  void SettleFenced(Activation* activation, const ExitReason& reason);
  void TellOfEnd(const ExitReason& reason, UnhandledMail unhandled_mail, uint64_t heirs_monitor);
  void Free();

  // actor_crash.cc.
  Occupation OccupationOf(const Activation& handler) const;
  void NoteCrash(ExitCause cause);

  // The order of the small fields avoids padding: the object fills ActorCell::kOwnerBytes.
  ParentTie parent_;
  bool is_killed_ : 1 = false;
  bool is_ending_ : 1 = false;  // nothing can arrive any more
  bool has_names_ : 1 = false;
  RankTurns rank_turns_;
  StartProgress start_;
  uint8_t obstacles_ = kIsNotRunning | kIsNotSimple;
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
};
static_assert(sizeof(ActorCore) <= ActorCell::kOwnerBytes);

inline ActorCore* CurrentTurn::actor() const {
  return cell == nullptr ? nullptr : static_cast<ActorCore*>(cell->owner());
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_CORE_H_

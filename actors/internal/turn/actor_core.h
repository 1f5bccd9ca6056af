// ActorCore: the owner's side of one actor's life: its turns, from its constructor to its end.
//
// A turn (Run) takes what has arrived, applies signals, sorts messages and events by arrival, and handles what is
// eligible. An ActorCore lies inside its ActorCell. It keeps the object, its behavior, its waiting mail and the handler
// that runs. How far the life has come is a LifeStage; all else that an actor has are its ActorParts. The functions
// that use only what is public here are not members, but in files by subject: actor_asks.h, actor_choice.h (what is
// next), actor_crash.h (reports), actor_disposal.h (the ledger, messages that no handler gets), actor_due.h (timers and
// deadlines), actor_forwarding.h (Forward and Postpone), actor_names.h, actor_queues.h (mailboxes), actor_receive.h
// (the process style), actor_signals.h (links, exits, monitors, children), actor_streams.h, actor_unhandled_mail.h.
//
// Threads: all functions are for the owner's turn. A call that comes from a handler enters the kernel with KernelCode
// (scheduling/worker.h), and the kernel runs user code under UserCode. Exceptions: any thread may call Spawn; a sender
// that has claimed the idle actor calls TakeHanded; another thread calls Fence, IsStarting, Describe and the const
// functions while it holds this actor's thread in user code, the const functions while it holds the idle actor
// (ActorCell::WhileIdle), and published_behavior and last_sorted while the look guard keeps them (InspectQueued).
//
// Invariants between the fields:
//  1. spawn_arguments_ is the union's member until Construct has taken it; from then on last_stamp_ is.
//  2. in_hand_ has a message only between turns and at the beginning of a turn.
//  3. behavior_ and actor_ are null until the start has set them, and again once the end has dropped them: behavior_
//     first, because its handlers may hold what calls this object.
//  4. stage_ says that the behavior is simple exactly if behavior_ has been set and is, and the actor is not traced;
//     EnterBehavior and SetTraced see to that.
//  5. parts_ has a reason to end only if stage_ has an exit. Others are told of the end (EndLife) only once stage_ says
//     that the actor is ending.
//
// Sources: actor_core.cc (turn), actor_handling.{h,cc} (handlers), actor_behaviors.cc (become), actor_life.cc (start),
// actor_end.cc.
//
// The tests of the parts need no actor. Those of activations.h, actor_start.h, actor_timers.h, behavior_stack.h,
// closed_mailboxes.h, crash_notes.h, due_times.h, event_queue.h, exits.h, life_stage.h, mail_choice.h,
// parent_tie.h, postponed_mail.h (envelope_ring_test.cc), rank_turns.h, waiting_mail.h and watches.h are in
// tests/actors/core, those of ask_table.h and link_table.h in tests/actors.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_CORE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_CORE_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/internal/turn/activation.h"
#include "understudy/actors/internal/turn/actor_parts.h"
#include "understudy/actors/internal/turn/actor_start.h"
#include "understudy/actors/internal/turn/crash_notes.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/internal/turn/in_hand.h"
#include "understudy/actors/internal/turn/life_stage.h"
#include "understudy/actors/internal/turn/parent_tie.h"
#include "understudy/actors/internal/turn/rank_turns.h"
#include "understudy/actors/internal/turn/waiting_mail.h"

namespace understudy::internal {

// What caused the end of an actor.
// - kOwn: the actor's code ended it (Fail, Stop, an exception).
// - kOwnOutside: the actor caused its end, but not from its code (an overflow, an exit that it had sent to itself).
// - kTold: an exit or a request to stop from elsewhere, or a timeout.
// - kKill: a Kill.
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
  // CellOwner.
  void Fence(ExitReason reason) override;
  bool IsStarting() const override { return stage_.start().IsUnderWay(stage_.is_ending() ? ending() : nullptr); }
  void HasDeferred() override { stage_.SetDeferred(true); }
  void DrainSoon() override { stage_.SetDrainsSoon(true); }

  // Called by a sender that has claimed the idle actor (ActorCell::Hand). `envelope` is the first message of its next
  // turn.
  void TakeHanded(Envelope* envelope) { in_hand_ = InHand(envelope); }

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
  ActorCell& cell() { return *ActorCell::Of(this); }
  Pid self() const { return const_cast<ActorCore*>(this)->cell().pid(); }
  uint64_t life() const { return const_cast<ActorCore*>(this)->cell().owners_life(); }
  const MailboxLayout& layout() const { return *const_cast<ActorCore*>(this)->cell().layout(); }

  // How far the life has come. Only members of this class change it.
  const LifeStage& stage() const { return stage_; }
  ActorParts& parts() { return parts_; }
  const ActorParts& parts() const { return parts_; }
  WaitingMail& mail() { return mail_; }
  RankTurns& rank_turns() { return rank_turns_; }

  // `table` becomes the behavior when the handler returns or awaits.
  void Become(BehaviorPtr table);
  // The actor handles nothing more, and ends with `reason` when its handler has returned. The first call counts.
  void SetExit(ExitReason reason, ExitCause cause);
  // Why the actor ends; null until its end is decided. A Replier that is destroyed after that answers with this reason.
  const ExitReason* ending() const;
  void FinishStart();
  void DeclineStart();
  // Records that the registry may know names of this actor, or names that it keeps, which end with it.
  void NoteNames() { has_names_ = true; }
  bool has_names() const { return has_names_; }

  // If it is traced, HandleMessage notes each message (NoteTraced). Then the behavior does not count as simple, so the
  // inline path of messages has no check.
  bool is_traced() const { return is_traced_; }
  void SetTraced(bool is_traced);

  // The current behavior. Null if none has been entered yet, or the end has dropped it.
  const BehaviorPtr& behavior() const { return behavior_; }
  // The user's object. Null until the constructor has returned, and once the end has destroyed it.
  Actor* object() const { return actor_.get(); }
  // The handler that runs. Null if none does, as in a guard or the constructor.
  Activation* current() const { return in_hand_.handler(); }
  // What the actor does now. Async-signal-safe.
  Occupation occupation() const;

  // Returns the stamp for a message or event that has just been sorted: larger than all stamps before. A stamp is
  // roughly the time of arrival in nanoseconds: the time of the last NoteTime, plus one for each message sorted since,
  // which is less than the time that has passed. Not called before the constructor runs.
  uint64_t NextStamp() {
    const uint64_t next = last_stamp_ + 1;
    SetLastStamp(next);
    return next;
  }
  // The messages sorted next arrived at `time`, or the turn that sorts them began then.
  void NoteTime(MonotonicTime time) { SetLastStamp(std::max(last_stamp_, static_cast<uint64_t>(time.nanos()))); }
  // What an actor that has started shows to any thread, while the look guard of the system keeps it: the table of its
  // behavior, or null; and when it last sorted messages, or began.
  const BehaviorTable* published_behavior() const { return behavior_.Published(); }
  MonotonicTime last_sorted() const {
    // relaxed: the time publishes nothing.
    const uint64_t stamp = std::atomic_ref(const_cast<uint64_t&>(last_stamp_)).load(std::memory_order_relaxed);
    return MonotonicTime::FromNanos(static_cast<int64_t>(stamp));
  }
  // Handles a message that has left its mailbox, with clause `clause` of `table`.
  void HandleTaken(Envelope* envelope, BehaviorTable& table, size_t clause);
  // Runs `handler` for `event`. If it is null, the event ends the actor.
  void RunEvent(Event event, std::shared_ptr<MessageHandler> handler, bool ends_receive);

 private:
  // A turn drains the inbox once per this many messages, because the head of the inbox is on a cache line that senders
  // write. So a signal that arrives during a turn waits for at most this many messages.
  static constexpr int kDrainEvery = 32;

  explicit ActorCore(const ParentTie& parent);
  ~ActorCore();

  void SetCurrent(Activation* activation) { in_hand_ = InHand(activation); }
  // relaxed: another thread may load it (last_sorted), and its value publishes nothing.
  void SetLastStamp(uint64_t stamp) { std::atomic_ref(last_stamp_).store(stamp, std::memory_order_relaxed); }
  // Waits while another thread looks at what this actor has published.
  void AwaitLook() { system().look_guard().AwaitEnd(&cell()); }

  // actor_core.cc: the turn.
  bool TakeTurn(CurrentTurn& turn, int budget);
  bool HandleNext();
  void Sweep();

  // actor_handling.h, actor_handling.cc.
  void HandleOldest(CurrentTurn& turn, uint64_t waiting);
  void HandleHanded(CurrentTurn& turn, Envelope* envelope);
  void RunHandler(CurrentTurn& turn, Worker& worker, Queue* queue, Activation& activation, MessageHandler& handler);
  void RunAwaiting(std::unique_ptr<Activation> activation, MessageHandler& handler);
  void Resume(Waiter waiter);
  void AfterStep(Activation& activation);
  void Settle(Queue* queue, Activation& activation);

  // actor_behaviors.cc.
  void ApplyBecome();
  void EnterBehavior(BehaviorPtr table);

  // actor_life.cc.
  struct Starter;
  bool Construct();
  void BeginStart();
  void Decide(StartResult next);
  void RunStart(absl::optional<StartResult> next);
  RootTask StartSequence(Activation& activation, absl::optional<StartResult> begun);

  // actor_end.cc.
  void End();
  void FinishFenced();
  void DropActivations(const ExitReason& reason);
  void DropHandlers();
  void Free();

  // The order of the small fields avoids padding: the object fills ActorCell::kOwnerBytes.
  RankTurns rank_turns_;
  [[no_unique_address]] ActorParts parts_;  // the attribute lets the next fields use its padding
  LifeStage stage_;
  bool has_names_ : 1 = false;
  bool is_traced_ : 1 = false;
  std::unique_ptr<Actor> actor_;
  BehaviorPtr behavior_;
  union {
    SpawnArguments* spawn_arguments_ = nullptr;  // until the constructor runs
    uint64_t last_stamp_;                        // then
  };
  WaitingMail mail_;
  InHand in_hand_;
};
static_assert(sizeof(ActorCore) <= ActorCell::kOwnerBytes);

// Notes that a clause names the mailbox. Matters only while Start runs.
void NameInClause(ActorCore& core, int mailbox);

// Why the actor ends; Normal until that is decided.
inline ExitReason ReasonOf(const ActorCore& core) {
  const ExitReason* const reason = core.parts().exits_or_default().reason();
  return reason != nullptr ? *reason : ExitReason::Normal();
}

inline ActorCore* CurrentTurn::actor() const {
  return cell == nullptr ? nullptr : static_cast<ActorCore*>(cell->owner());
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_ACTOR_CORE_H_

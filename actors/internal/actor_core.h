// ActorCore: the owner's side of one actor's life: its mailboxes, behaviour,
// handlers in progress, links, timers and asks.
//
// A turn (RunTurn) takes what arrived, lets signals act, sorts messages and
// events by arrival, and handles what is eligible. Everything here is owner's
// turn only, except what CellOwner says. It deletes itself at the end of the
// life.
//
// Sources: actor_core.cc (turn), actor_handling.cc (choice and handlers),
// actor_passing.cc (classifiers), actor_behaviors.cc (become), actor_signals.cc (links, exits, monitors),
// actor_asks.cc, actor_life.cc (start and end), actor_timers.cc, context.cc.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_ACTOR_CORE_H_
#define UNDERSTUDY_ACTORS_INTERNAL_ACTOR_CORE_H_

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/internal/activation.h"
#include "understudy/actors/internal/actor_cell.h"
#include "understudy/actors/internal/hook.h"
#include "understudy/actors/internal/system_core.h"
#include "understudy/actors/link_table.h"
#include "understudy/actors/timer_queue.h"

namespace understudy::internal {

// What a call gets whose Replier was destroyed unused.
absl::Status UnansweredError(Pid callee);

class ActorCore final : public CellOwner, public MailboxHost {
 public:
  // Begins a life in `system`. Any thread; the actor runs on its own turns.
  static Pid Spawn(SystemCore& system, Pid parent, SpawnOptions options, MakeActor make);

  // CellOwner.
  void RunTurn() override;
  int64_t waiting_messages() const override { return waiting_.load(std::memory_order_relaxed); }

  // MailboxHost.
  int AddMailbox(MailboxDeclaration declaration) override;

  // For Actor, Context and the awaitables.
  static ActorCore& OfThisTurn();
  // Null when `pid` is not the actor of this turn.
  static ActorCore* OfThisTurn(Pid pid);

  SystemCore& system() { return system_; }
  Pid self() const { return self_; }
  Pid parent() const { return parent_; }
  Random& random() { return random_; }
  std::vector<MailboxSignature> Signatures() const;

  void Become(std::shared_ptr<BehaviorTable> table);
  absl::Status BecomeStacked(std::shared_ptr<BehaviorTable> table);
  absl::Status Unbecome();
  void Fail(absl::Status status);
  void Stop(ExitReason reason);
  void FinishStart();

  Pid SpawnChild(SpawnOptions options, MakeActor make);
  void Link(Pid peer);
  void Unlink(Pid peer);
  uint64_t Monitor(Pid target, std::shared_ptr<MessageHandler> handler);
  void Demonitor(uint64_t id);
  void SetTraps(std::shared_ptr<MessageHandler> handler, std::shared_ptr<MessageHandler> parent_handler);
  void SetStopHandler(std::shared_ptr<MessageHandler> handler) { stop_handler_ = std::move(handler); }

  absl::Status StartTimer(absl::string_view name, absl::Duration delay, std::shared_ptr<MessageHandler> handler);
  bool CancelTimer(absl::string_view name);
  void CloseMailbox(int mailbox) { ++mailboxes_[static_cast<size_t>(mailbox)].leases; }
  void EndLease(int mailbox) { --mailboxes_[static_cast<size_t>(mailbox)].leases; }
  void Postpone();
  // The message in hand, or what was made of it, goes to `mailbox`; a call with
  // its right to answer.
  void PassOn(int mailbox, Payload payload, CallInHand call);

  // A new entry of the table of asks, to be answered by Answered or a reply. 0
  // when there is no room: awaiting it answers Full.
  uint64_t NewAsk(Pid callee, MonotonicTime deadline);
  void Answered(uint64_t id, absl::Status status, Payload payload);
  // The smaller of `timeout` from now and the deadline of the call in hand.
  MonotonicTime DeadlineWithin(absl::Duration timeout);
  bool IsAnswered(uint64_t id);
  void AwaitAnswer(uint64_t id, std::coroutine_handle<> waiter);
  Answer TakeAnswer(uint64_t id);
  // The asker gives it up; its answer is Cancelled.
  void CancelAsk(uint64_t id);

  PendingId StartLookup(absl::string_view name, absl::Duration timeout);
  PendingId Publish(absl::string_view name);
  absl::Status Register(absl::string_view name);
  void Unregister(absl::string_view name);
  void WatchName(absl::string_view name, std::shared_ptr<MessageHandler> handler);

  void BeginReceive(std::shared_ptr<BehaviorTable> table, std::coroutine_handle<> waiter);

  // Why it ends, once that is decided. A Replier destroyed now answers with it.
  const ExitReason* ending() const { return exit_ ? &*exit_ : nullptr; }
  // The call in hand was this one: its answer is owed by the handler again.
  bool TakeBackAnswer(Pid asker, uint64_t ask);

 private:
  struct Waiting {
    Waiting() = default;
    Waiting(Waiting&&) noexcept = default;
    Waiting& operator=(Waiting&&) noexcept = default;

    Message message;
    uint64_t stamp = 0;  // place in the order of arrival
    size_t bytes = 0;
    bool is_postponed = false;
    bool was_in_hand = false;  // and was put back
  };
  struct MailboxState {
    explicit MailboxState(MailboxDeclaration declared) : declaration(std::move(declared)) {}
    MailboxState(MailboxState&&) noexcept = default;

    MailboxDeclaration declaration;
    std::deque<Waiting> queue;
    int leases = 0;
  };
  // What an event came from, so that it can be taken back.
  struct Event {
    enum class Kind { kDown, kExit, kParentExit, kStopRequest, kTimer, kOutcome, kName };
    Kind kind = Kind::kTimer;
    uint64_t stamp = 0;
    uint64_t id = 0;     // monitor or timer
    uint64_t epoch = 0;  // of the behaviour, for its timers; 0 for others
    Pid peer;
    ExitReason reason;  // for events that end the actor when nobody handles them
    Payload payload;
    std::shared_ptr<MessageHandler> handler;  // null: it ends the actor
  };
  struct Timer {
    enum class Kind { kBehavior, kIdle, kNamed, kAsk, kStartTimeout, kParentExit };
    Kind kind = Kind::kBehavior;
    uint64_t epoch = 0;    // kBehavior, kIdle
    uint64_t ask = 0;      // kAsk
    std::string name;      // kNamed; of a lookup's kAsk
    absl::Duration quiet;  // kIdle
    MonotonicTime since;   // kIdle: armed or fired last
    size_t place = 0;      // kIdle: in behavior_timers_
    std::shared_ptr<MessageHandler> handler;
  };
  struct Ask {
    Pid callee;
    bool is_answered = false;
    Answer answer;
    uint64_t timer = 0;
    uint64_t name_watch = 0;  // of a Lookup
    std::string publishes;    // of a Publish under way
    std::coroutine_handle<> waiter;
    Activation* activation = nullptr;
  };
  struct Resumable {
    std::coroutine_handle<> handle;
    Activation* activation = nullptr;
  };
  // What to handle next.
  struct Choice {
    int mailbox = -1;
    size_t position = 0;
    ClauseEntry* clause = nullptr;
    uint64_t stamp = UINT64_MAX;
  };
  struct NameWatch {
    uint64_t registry_id = 0;
    std::string name;
    std::shared_ptr<MessageHandler> handler;
  };
  enum class Stage { kConstructing, kStarting, kStartingOpen, kRunning };

  ActorCore(SystemCore& system, ActorCell* cell, Pid self, Pid parent, SpawnOptions options, MakeActor make);
  ~ActorCore();

  // actor_core.cc: the turn.
  bool TurnLoop();
  void DrainInbound();
  void Arrived(Message message);
  void Enqueue(int mailbox, Message message);
  void DropOverflow(int mailbox);
  void FailOnOverflow();
  uint64_t OpenMask();
  bool HasEligible();
  // Ends the wait of a message in every ledger.
  void Leave(int mailbox, const Waiting& waiting);

  // actor_handling.cc.
  bool HandleOne();
  bool IsHeld() const;
  BehaviorTable* Effective();
  std::vector<Choice> Candidates(BehaviorTable& table);
  Choice ChooseIn(BehaviorTable& table, int mailbox, uint64_t guards);
  Choice ChooseByRank(const BehaviorTable& table, const std::vector<Choice>& candidates);
  uint64_t HoldingGuards(BehaviorTable& table);
  void HandleMessage(const Choice& choice);
  void HandleEvent();
  bool IsExpired(int mailbox, const Waiting& waiting, absl::Status& why);
  void PutBack(Activation& activation);
  bool IsStale(const Event& event) const;
  void RunHandler(std::unique_ptr<Activation> activation, MessageHandler& handler);
  void Resume(Resumable resumable);
  void AfterStep(Activation& activation);
  void Finish(Activation& activation);
  void SettleMessage(Activation& activation);
  void SettleRound(const Activation& activation);
  void RemoveBehaviorTimers();
  void Trace(absl::string_view what, const Activation& activation);
  void ReturnPostponed();
  void Dispose(const Message& message, int mailbox, Fate fate, const absl::Status& why);

  void ExpireWaitingCalls();

  // actor_behaviors.cc.
  void ApplyBecome();
  void ChangeBehavior();
  void EnterBehavior(std::shared_ptr<BehaviorTable> table);
  void RunHook(Hook& hook);

  // actor_signals.cc.
  void Act(Signal signal);
  void OnExitSignal(const Signal& signal);
  void OnDownSignal(const Signal& signal);
  void OnRequestStop(const Signal& signal);
  void CancelWaiting(Pid asker, uint64_t ask);
  void AddEvent(Event event);
  void SetExit(ExitReason reason, bool is_kill);

  // actor_asks.cc.
  void ExpireAsk(uint64_t id, absl::string_view name);

  // actor_timers.cc.
  uint64_t AddTimer(MonotonicTime time, Timer timer);
  void FireTimers();
  void ArmExecutor();
  void AddBehaviorTimers(const BehaviorTable& table);

  // actor_life.cc.
  bool Construct();
  void AdmitEarly(std::deque<Envelope> early);
  RootTask StartSequence(Activation& activation);
  Task<absl::optional<ExitReason>> TakeNames();
  void TellOutcome(SpawnReport::Kind kind, const ExitReason& reason);
  void End();
  void DropHandlers();
  void BuryWaiting(const ExitReason& reason);
  void BuryRest(std::deque<Envelope> rest, const ExitReason& reason);
  void TellOfEnd(const ExitReason& reason);

  // Constant after construction.
  SystemCore& system_;
  ActorCell* const cell_;
  const Pid self_;
  const Pid parent_;
  SpawnOptions options_;
  const bool tells_outcome_;  // the handler itself is the parent's
  Random random_;

  MakeActor make_;
  std::unique_ptr<Actor> actor_;
  Stage stage_ = Stage::kConstructing;
  bool outcome_told_ = false;
  bool is_ignored_ = false;  // Start declined
  absl::optional<ExitReason> exit_;
  bool is_killed_ = false;
  bool is_ending_ = false;  // nothing can arrive any more

  std::deque<Envelope> inbound_;
  std::vector<MailboxState> mailboxes_;
  std::deque<Event> events_;
  uint64_t last_stamp_ = 0;
  bool has_postponed_ = false;       // some message waits for the next behaviour
  std::atomic<int64_t> waiting_{0};  // written on the owner's turn

  std::shared_ptr<BehaviorTable> behavior_;
  absl::optional<std::shared_ptr<BehaviorTable>> become_;
  std::vector<std::shared_ptr<BehaviorTable>> stack_;  // below what it has, or will have become
  uint64_t epoch_ = 1;                                 // counts behaviours entered
  std::vector<uint64_t> behavior_timers_;
  MonotonicTime last_message_;
  size_t rank_index_ = 0;
  int rank_used_ = 0;

  std::list<std::unique_ptr<Activation>> activations_;  // suspended, oldest first
  Activation* current_ = nullptr;
  std::deque<Resumable> resumable_;
  // The process style: the Receive that waits.
  std::shared_ptr<BehaviorTable> receive_;
  Resumable receiver_;

  LinkTable links_;
  std::map<uint64_t, std::shared_ptr<MessageHandler>> monitor_handlers_;
  std::map<Pid, std::shared_ptr<MessageHandler>> outcome_handlers_;
  std::map<uint64_t, NameWatch> name_watches_;
  uint64_t last_name_watch_ = 0;
  bool traps_exits_ = false;
  std::shared_ptr<MessageHandler> exit_handler_;
  std::shared_ptr<MessageHandler> parent_exit_handler_;
  std::shared_ptr<MessageHandler> stop_handler_;
  uint64_t parent_exit_timer_ = 0;  // 0 until the parent's exit has come

  TimerQueue<Timer> timers_;
  std::map<std::string, uint64_t, std::less<>> named_timers_;
  uint64_t executor_timer_ = 0;
  MonotonicTime executor_time_ = MonotonicTime::InfiniteFuture();

  std::map<uint64_t, Ask> asks_;
  uint64_t last_ask_ = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_ACTOR_CORE_H_

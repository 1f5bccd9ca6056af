// ActorCell: what a sender needs of an actor, in memory that is never given
// back and never changes its type, so that a channel may hold a plain pointer.
//
// Invariants:
// 1. `life_` (serial and node, as in a Pid) is zero when the cell is closed.
//    Whoever holds another life than the cell's finds NoProcess.
// 2. While `owner_` is running or scheduled, `is_scheduled_` is true, and it is
//    scheduled at most once.
// 3. The gates are fixed when the constructor has run; before that messages
//    are held up to a bound and their mailboxes are not known.
// Any thread, unless a method says "owner's turn".
#ifndef UNDERSTUDY_ACTORS_INTERNAL_ACTOR_CELL_H_
#define UNDERSTUDY_ACTORS_INTERNAL_ACTOR_CELL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class SystemCore;

// A time of the actor's own timers has come.
struct Tick {
  bool expires_calls = false;  // or a sender has found a mailbox of calls full
};

// A child has started, declined or failed to start.
struct SpawnReport {
  enum class Kind { kStarted, kIgnored, kFailed };
  Pid child;
  Kind kind = Kind::kStarted;
  ExitReason reason;
};

// A watched name has an owner, or has none any more (a null pid).
struct NameReport {
  uint64_t watch = 0;
  std::string name;
  Pid pid;
};

using Envelope = std::variant<Message, Signal, Tick, SpawnReport, NameReport>;

// One mailbox as senders see it.
struct Gate {
  MailboxDeclaration declaration;
  int64_t accepted = 0;
  int64_t left = 0;  // of the accepted, those that have left the mailbox
  size_t bytes_accepted = 0;
  size_t bytes_left = 0;
  int64_t refused = 0;
  bool fail_on_turn = false;  // it overflowed, and its policy is kFailActor
};

// The owner's part, run by the cell.
class CellOwner {
 public:
  virtual void RunTurn() = 0;
  // Waiting messages of all mailboxes, for the ledger. Under the cell's lock.
  virtual int64_t waiting_messages() const = 0;

 protected:
  ~CellOwner() = default;
};

class ActorCell final : public Runnable {
 public:
  ActorCell() = default;
  ActorCell(const ActorCell&) = delete;
  ActorCell& operator=(const ActorCell&) = delete;

  // What a sender knows about its message.
  struct Offer {
    uint64_t life = 0;
    uint32_t mailbox = 0;
    const MessageType* type = nullptr;  // null for bytes of the wire
    bool is_call = false;
    size_t bytes = 0;
  };
  // Accepts a message, or refuses it with NoProcess, Stopping, NoMailbox or
  // Full. `take` gives the message, and is called only when it is accepted,
  // under the lock.
  absl::Status Accept(const Offer& offer, absl::FunctionRef<Message()> take);

  // Appends what is not a message and wakes the actor. False, and `envelope`
  // is left alone, when that life has ended.
  bool Post(uint64_t life, Envelope&& envelope);

  // A sender has found a mailbox of calls full: wakes the actor, so that calls
  // that have expired leave it. At most one such wake-up is under way.
  void AskForExpiry(uint64_t life);

  bool IsAlive(uint64_t life) const;

  // Begins a life and schedules its first turn.
  void Open(uint64_t life, SystemCore* system, CellOwner* owner);

  // Owner's turn: the constructor has run. From now on the gates decide; what
  // was held until now is given to `early`, not counted in any gate.
  void SetGates(std::vector<Gate> gates, std::deque<Envelope>& early);
  // Owner's turn: takes all that has arrived, in order.
  void TakeInbound(std::deque<Envelope>& into);
  // Owner's turn: a message has left `mailbox`.
  void Released(int mailbox, int64_t messages, size_t bytes);
  // Owner's turn: a message that came early goes to `mailbox`, as if it came
  // now; Full when there is no room.
  absl::Status AdmitEarly(int mailbox, size_t bytes);
  // Owner's turn: takes back that `mailbox` overflowed with kFailActor.
  bool TookOverflow(int mailbox);
  // Owner's turn, at its end. Wakes again when there is something to do.
  // Mailboxes in `open` wake the actor from now on.
  void EndTurn(uint64_t open, bool has_more);
  // Owner's turn: from now on senders get Stopping.
  void BeginStop();
  // Owner's turn: ends the life. Senders get NoProcess from now on. Gives what
  // arrived and was not taken.
  std::deque<Envelope> Close();
  // Accepted and not yet out of their mailboxes, those not yet drained too.
  int64_t Waiting() const;
  // The life that the cell has now, or 0.
  uint64_t life() const;
  // Gates by index, for introspection.
  std::vector<Gate> gates() const;

  // Calls `look` for each mailbox that is closed and has mail, while no turn
  // runs or waits to run; under the lock.
  void ForEachClosed(absl::FunctionRef<void(uint64_t life, int mailbox, const Gate& gate)> look) const;

  // Runs the owner's turn.
  void Run() override;

  // Its place in its arena. Constant while it is used.
  uint32_t index() const { return index_; }

 private:
  friend class CellArena;
  enum class State : uint8_t { kClosed, kStarting, kOpen, kStopping };

  absl::Status AcceptLocked(const Offer& offer, bool& wake, absl::FunctionRef<Message()> take)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PushLocked(Message message, bool is_timed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool WakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  bool WouldWake(const Envelope& envelope) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The gate of that mailbox, or the number of gates.
  size_t GateOf(uint32_t mailbox) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  uint32_t index_ = 0;
  mutable absl::Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kClosed;
  bool is_scheduled_ ABSL_GUARDED_BY(mu_) = false;
  bool expiry_asked_ ABSL_GUARDED_BY(mu_) = false;  // and not taken
  uint64_t life_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t open_ ABSL_GUARDED_BY(mu_) = 0;
  SystemCore* system_ ABSL_GUARDED_BY(mu_) = nullptr;
  CellOwner* owner_ ABSL_GUARDED_BY(mu_) = nullptr;
  int64_t held_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<Gate> gates_ ABSL_GUARDED_BY(mu_);
  std::deque<Envelope> inbound_ ABSL_GUARDED_BY(mu_);
};

// The word that tells one life from all others, of every system.
constexpr uint64_t LifeOf(Pid pid) { return pid.serial() << 16 | pid.node(); }

// One system's cells. Memory comes from a process-wide pool and goes back to
// it, closed, with the system; it is never unmapped. Any thread.
class CellArena {
 public:
  CellArena() = default;
  ~CellArena();
  CellArena(const CellArena&) = delete;
  CellArena& operator=(const CellArena&) = delete;

  ActorCell* Allocate();
  void Free(ActorCell* cell);
  // The cell at `index`, or null when there never was one. The index may come
  // from a peer.
  ActorCell* Find(uint32_t index) const;
  // Cells handed out and not freed, in order of index.
  std::vector<ActorCell*> Used() const;

 private:
  static constexpr size_t kChunkCells = 256;
  struct Chunk {
    std::array<ActorCell, kChunkCells> cells;
  };
  static std::vector<Chunk*>& Pool(absl::Mutex*& mu);

  mutable absl::Mutex mu_;
  std::vector<Chunk*> chunks_ ABSL_GUARDED_BY(mu_);
  std::vector<bool> used_ ABSL_GUARDED_BY(mu_);
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_ACTOR_CELL_H_

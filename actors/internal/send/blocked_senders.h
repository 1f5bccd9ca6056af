// BlockedSenders: the lines of those that wait outside full mailboxes of one system,
// because they await room (Channel::SendWhenRoom).
//
// A line has two kinds of waiters, served in the order in which they came. A
// sender of this system leaves its message here: in its turn the message is put
// into the mailbox, and the sender is told by a reply to its ask, which brings
// the message back when it cannot be sent. A sender of another node keeps its
// message: in its turn room is reserved (RemoteRoom), and the router is told.
//
// A message is either here or accepted, never both: whoever takes it under the
// lock decides. Whoever might have made room calls Admit: the receiver at the
// end of a turn, when its cell's has_blocked_senders() says so; a sender that is
// refused, and was counted for a moment; reserved room that comes back; a waiter
// that leaves the head of its line; and the sender that comes to wait, once
// it has said so. One of receiver and sender sees the other: the
// sender writes the mark, looks for room and wakes the receiver, which reads the
// mark when it has published the room of that turn. A receiver whose mail expires
// while somebody waits has a turn then (ActorCore::WatchExpiry).
//
// Any thread. No user code and no router runs under its locks. Joining, leaving
// and being served take time in the logarithm of the waiters.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SEND_BLOCKED_SENDERS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SEND_BLOCKED_SENDERS_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"

namespace understudy::internal {

class SystemCore;

class BlockedSenders {
 public:
  // A message, its sender, and the sender's ask that is answered when it has
  // been sent or cannot be.
  struct Waiting {
    Pid from;
    Pid to;
    uint64_t ask = 0;
    uint32_t mailbox = 0;
    Payload payload;  // in a block that may be pushed, with its bytes in the call part
  };

  explicit BlockedSenders(SystemCore& system) : system_(system) {}
  BlockedSenders(const BlockedSenders&) = delete;
  BlockedSenders& operator=(const BlockedSenders&) = delete;

  // Behind those that wait for the same mailbox. `cell` is that of `to`.
  void Add(ActorCell& cell, Waiting waiting);
  // The same for a sender of another node, which EndWait of the router answers.
  void Add(ActorCell& cell, const RoomWait& wait);
  // Serves those that there is room for, first come first served in each mailbox.
  // When that life has ended, all are answered so.
  void Admit(ActorCell& cell, uint64_t life);
  // Gives the message back; nothing when it has been sent or answered already:
  // then the reply is on its way.
  absl::optional<Payload> TakeBack(Pid to, Pid from, uint64_t ask);
  // Nothing when it has been answered.
  void Remove(const RoomWait& wait);

 private:
  // Life and mailbox; then the place in that line.
  using LineId = std::pair<uint64_t, uint32_t>;
  // Of a local sender: its pid and ask. Of another node's: its node, as a pid, and the transport's numbers.
  using WaiterId = std::tuple<Pid, uint64_t, uint64_t>;
  struct Waiter {
    WaiterId id;
    Waiting message;                // of a local sender
    absl::optional<RoomWait> room;  // of one of another node
  };
  using Line = std::map<uint64_t, Waiter>;
  struct Shard {
    absl::Mutex mu;
    std::map<LineId, Line> lines ABSL_GUARDED_BY(mu);
    std::map<WaiterId, std::pair<LineId, uint64_t>> places ABSL_GUARDED_BY(mu);
    uint64_t last_place ABSL_GUARDED_BY(mu) = 0;
  };
  // What is to be told when the lock is free.
  struct Answers {
    std::vector<Signal> replies;
    std::vector<std::pair<RoomWait, absl::Status>> ended;
  };

  static WaiterId IdOf(const RoomWait& wait) { return {Pid(wait.room.node, 0, 0), wait.session, wait.want}; }
  Shard& ShardOf(Pid to) { return shards_[to.cell() % shards_.size()]; }
  Shard& ShardOf(const ActorCell& cell) { return shards_[cell.index() % shards_.size()]; }
  void Join(ActorCell& cell, const LineId& line, Waiter waiter);
  void RefuseAll(Shard& shard, uint64_t life);
  absl::optional<Waiter> Leave(Pid to, const WaiterId& id);
  void AdmitLocked(Shard& shard, ActorCell& cell, uint64_t life, Answers& answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mu);
  absl::Status Serve(ActorCell& cell, Waiter& waiter);
  void Answer(Waiter& waiter, absl::Status status, Answers& answers);
  void Tell(Answers answers);

  SystemCore& system_;
  std::array<Shard, 16> shards_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SEND_BLOCKED_SENDERS_H_

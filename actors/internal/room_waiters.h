// RoomWaiters: the messages of one system that wait outside full mailboxes,
// because their senders await room (Channel::SendWhenRoom).
//
// A message is either here or accepted, never both: whoever takes it under the
// lock decides. Whoever might have made room calls Admit: the receiver at the
// end of a turn, when its cell's has_room_waiters() says so; a sender that is
// refused, and was counted for a moment; and the sender that comes to wait, once
// it has said so. One of receiver and sender sees the other: the
// sender writes the mark, looks for room and wakes the receiver, which reads the
// mark when it has published the room of that turn.
//
// The sender is told by a reply to its ask: OK, or why not, with the message.
// Any thread. No user code runs under its locks.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_ROOM_WAITERS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_ROOM_WAITERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/actor_cell.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class SystemCore;

class RoomWaiters {
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

  explicit RoomWaiters(SystemCore& system) : system_(system) {}
  RoomWaiters(const RoomWaiters&) = delete;
  RoomWaiters& operator=(const RoomWaiters&) = delete;

  // Behind those that wait for the same mailbox. `cell` is that of `to`.
  void Add(ActorCell& cell, Waiting waiting);
  // Sends what there is room for, first come first served in each mailbox. When
  // that life has ended, all are answered so.
  void Admit(ActorCell& cell, uint64_t life);
  // Gives the message back; nothing when it has been sent or answered already:
  // then the reply is on its way.
  absl::optional<Payload> TakeBack(Pid to, Pid from, uint64_t ask);

 private:
  // By life and mailbox.
  using Queues = std::map<std::pair<uint64_t, uint32_t>, std::deque<Waiting>>;
  struct Shard {
    absl::Mutex mu;
    Queues queues ABSL_GUARDED_BY(mu);
  };

  Shard& ShardOf(Pid to) { return shards_[to.cell() % shards_.size()]; }
  Shard& ShardOf(const ActorCell& cell) { return shards_[cell.index() % shards_.size()]; }
  void RefuseAll(Shard& shard, uint64_t life);
  std::vector<Signal> AdmitLocked(Shard& shard, ActorCell& cell, uint64_t life) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mu);

  SystemCore& system_;
  std::array<Shard, 16> shards_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_ROOM_WAITERS_H_

// BlockedSenders: for the full mailboxes of one system, the senders that wait for
// room (Channel::SendWhenRoom), one line for each mailbox.
//
// A line has two kinds of waiters, served first come, first served. A sender of
// this system leaves its message here. When it is served, the message is put into
// the mailbox and the sender gets a reply to its ask; if the message cannot be
// sent, the reply brings it back. A sender of another node keeps its message; when
// it is served, room is reserved for it (RemoteRoom) and the router is told.
//
// A message is either here or accepted, never both; the lock decides. Every thread
// that may have made room calls Admit: the receiver at the end of a turn, if its
// cell's has_blocked_senders() is true; a refused sender, because it was counted
// for a moment; a thread that returns reserved room or takes a waiter out of its
// line; and a new waiter itself.
//
// No waiter is missed: the sender stores the mark has_blocked_senders_, then looks
// for room, then wakes the receiver. The receiver loads the mark at the end of each
// turn, after it has published the room of that turn, and so of the turn that the
// wake causes. If messages expire while senders wait, the receiver has a turn then
// (WatchExpiry in turn/actor_queues.h).
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

  // Adds a waiter at the end of its mailbox's line. `cell` is the cell of `waiting.to`.
  void Add(ActorCell& cell, Waiting waiting);
  // Like Add above, for a sender of another node. When the wait is over, Router::EndWait is called.
  void Add(ActorCell& cell, const RoomWait& wait);
  // Serves the waiters for which there is room, in order in each mailbox. If that
  // life has ended, answers all of them with NoProcess.
  void Admit(ActorCell& cell, uint64_t life);
  // Removes the waiter and returns its message. Returns nullopt if it was served or
  // answered already: the reply is then on its way.
  absl::optional<Payload> TakeBack(Pid to, Pid from, uint64_t ask);
  // Removes the waiter. Does nothing if it was answered already.
  void Remove(const RoomWait& wait);

 private:
  // The receiver's life, and the hash of its mailbox.
  using LineId = std::pair<uint64_t, uint32_t>;
  // A local sender: its pid, 0, and its ask. A sender of another node: the node, as a pid, and the transport's numbers.
  using WaiterId = std::tuple<Pid, uint64_t, uint64_t>;
  struct Waiter {
    WaiterId id;
    Waiting message;                // if the sender is local
    absl::optional<RoomWait> room;  // if the sender is on another node
  };
  // By Shard::last_place at the time of joining, so the first waiter is the one to serve.
  using Line = std::map<uint64_t, Waiter>;
  struct Shard {
    absl::Mutex mu;
    std::map<LineId, Line> lines ABSL_GUARDED_BY(mu);
    std::map<WaiterId, std::pair<LineId, uint64_t>> places ABSL_GUARDED_BY(mu);
    uint64_t last_place ABSL_GUARDED_BY(mu) = 0;
  };
  // Answers to be sent once the lock is released.
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

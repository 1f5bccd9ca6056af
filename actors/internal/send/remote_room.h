// RemoteRoom: what the mailboxes of one system hold for other nodes beyond what
// their gates and queues show.
//
// A mailbox has two kinds of it:
// - Reserved room: counted by the gate as if messages had been accepted, but
//   they have not come. A reservation is made as a sender makes its own, against
//   the same limit, so local senders and reservations compete for the same room.
//   When a message comes that a reservation covers, the reservation becomes the
//   message's own count and leaves this table.
// - Messages beside: they came under a session's first allowance. The gate does
//   not count them until they leave the mailbox; then it counts them once as
//   accepted and once as left, so that room neither appears nor vanishes.
//
// So a mailbox holds accepted - left + beside - reserved messages (Excess).
//
// Invariant: of an ended life there are no entries, and its reservations are
// taken back from the gate exactly once. Who makes an entry marks the cell first
// (ActorCell::MarkRemote) and makes none if the life has ended; EndLife ends the
// marking, and then removes what was there.
//
// Any thread. The locks are leaves: nothing is called under them but the cell's
// atomics.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SEND_REMOTE_ROOM_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SEND_REMOTE_ROOM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/internal/send/actor_cell.h"
#include "understudy/actors/room.h"

namespace understudy::internal {

class SystemCore;

class RemoteRoom {
 public:
  explicit RemoteRoom(SystemCore& system) : system_(system) {}
  RemoteRoom(const RemoteRoom&) = delete;
  RemoteRoom& operator=(const RemoteRoom&) = delete;

  // Takes what is free, up to the amount and the node's fair share: the capacity
  // divided by one more than the nodes that hold reservations, so that local
  // senders have a share too. `cell` is that of the receiver.
  ReservedRoom Reserve(ActorCell& cell, const RoomRequest& request) { return Reserve(cell, request, Share::kFair); }
  // All or nothing, for a sender whose turn it is in the line of those that wait
  // (BlockedSenders, which holds its lock). Full when there is not as much; NoProcess
  // and the like when there never is.
  absl::Status ReserveInLine(ActorCell& cell, const RoomRequest& request);
  // Gives up to that much of the node's reservation back to the gate.
  void GiveBack(ActorCell& cell, const RoomRequest& request);
  // A message that the node's reservation covers has come: one message, and so
  // many bytes, are its own now. False when there is no such reservation.
  bool Use(const ActorCell& cell, uint64_t life, size_t place, NodePlace node, int64_t bytes);
  // A message came, or left (negative), that no gate counts while it waits.
  void AddBeside(ActorCell& cell, uint64_t life, size_t place, RoomAmount amount);
  // What the mailbox holds beyond what its gate counts as accepted: beside less
  // reserved.
  RoomAmount Excess(const ActorCell& cell, uint64_t life, size_t place) const;
  // Somebody found no room: the nodes that hold reserved room are asked for it,
  // once until some comes back or is used.
  void AskBack(ActorCell& cell, uint64_t life, size_t place);
  // That life is over, and its mailboxes take nothing any more.
  void EndLife(ActorCell& cell, uint64_t life);

 private:
  using Place = std::pair<uint64_t, size_t>;  // life, and place of the mailbox
  struct Entry {
    RoomAmount reserved;  // of all nodes
    RoomAmount beside;
    absl::InlinedVector<std::pair<NodePlace, RoomAmount>, 2> by_node;
    bool is_asked_back = false;
  };
  struct Shard {
    mutable absl::Mutex mu;
    absl::flat_hash_map<Place, Entry> entries ABSL_GUARDED_BY(mu);
  };
  enum class Share { kFair, kAllOrNothing };

  const Shard& ShardOf(const ActorCell& cell) const { return shards_[cell.index() % shards_.size()]; }
  Shard& ShardOf(const ActorCell& cell) { return shards_[cell.index() % shards_.size()]; }
  ReservedRoom Reserve(ActorCell& cell, const RoomRequest& request, Share share);
  static RoomAmount& OfNode(Entry& entry, NodePlace node);
  static void EraseIfUnused(Shard& shard, const Place& place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mu);

  SystemCore& system_;
  std::array<Shard, 16> shards_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SEND_REMOTE_ROOM_H_

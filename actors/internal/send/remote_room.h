// RemoteRoom: accounts for the room and the messages of other nodes in the
// mailboxes of one system, as far as gates and queues do not show them.
//
// There are two kinds:
// - Reserved room: the gate counts it as if messages had been accepted, but they
//   have not come yet. Reservations and local senders compete for the same room,
//   against the same limit. When a message comes that a reservation covers, the
//   reservation becomes the message's own count and leaves this table.
// - Messages beside: they came under a session's first allowance. The gate does
//   not count them until they leave the mailbox; then it counts them once as
//   accepted and once as left, so that room neither appears nor vanishes.
//
// A mailbox therefore holds accepted - left + beside - reserved messages (Excess).
//
// Invariant: an ended life has no entries, and its reservations are taken back
// from the gate exactly once. A thread that adds an entry marks the cell first
// (ActorCell::MarkRemote) and adds none if the life has ended. EndLife ends the
// marking first, then removes the entries.
//
// Any thread. The locks are leaves: under them only the cell's atomics are used.
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

  // Reserves the room that is free, up to the requested amount and the node's fair
  // share: the room divided by one more than the number of nodes with reservations,
  // so that local senders have a share too. `cell` is the receiver's.
  ReservedRoom Reserve(ActorCell& cell, const RoomRequest& request) { return Reserve(cell, request, Share::kFair); }
  // Reserves all or nothing, for the first waiter of a line of BlockedSenders, which
  // holds its lock. Full if there is not enough room now; NoProcess, Stopping or
  // NoMailbox if there will never be.
  absl::Status ReserveInLine(ActorCell& cell, const RoomRequest& request);
  // Returns up to the requested amount of the node's reservation to the gate.
  void GiveBack(ActorCell& cell, const RoomRequest& request);
  // Turns one message and `bytes` bytes of the node's reservation into the count of a
  // message that came. Returns false if the reservation does not cover it.
  bool Use(const ActorCell& cell, uint64_t life, size_t place, NodePlace node, int64_t bytes);
  // Adds a message beside that came, or subtracts (negative amount) one that left.
  void AddBeside(ActorCell& cell, uint64_t life, size_t place, RoomAmount amount);
  // The number of messages and bytes that the mailbox holds beyond those that its gate counts: beside minus reserved.
  RoomAmount Excess(const ActorCell& cell, uint64_t life, size_t place) const;
  // Call when a sender found no room. Asks the nodes that hold reserved room to return
  // it, but not again before some room is reserved, returned or used.
  void AskBack(ActorCell& cell, uint64_t life, size_t place);
  // Removes the entries of that life, which has ended (after Close).
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

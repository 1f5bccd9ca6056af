// Room in mailboxes for messages from other nodes.
//
// A message from another node is accepted in one of two ways. Most messages are covered
// by a reservation: the receiving system reserved room within the mailbox's capacity, at
// its gate, before it told the sender's node that it may send. The first few messages to
// a mailbox are covered by the session's first allowance, which is in addition to the
// mailbox's capacity and needs no round trip.
#ifndef UNDERSTUDY_ACTORS_ROOM_H_
#define UNDERSTUDY_ACTORS_ROOM_H_

#include <cstdint>

#include "understudy/actors/pid.h"

namespace understudy {

// Whether the session's first allowance or a reservation covers a message from another node.
enum class Admission : uint8_t { kAllowance, kReserved };

// A number of messages, and of bytes of their wire form.
struct RoomAmount {
  int64_t messages = 0;
  int64_t bytes = 0;

  bool is_zero() const { return messages == 0 && bytes == 0; }
  // True if there is room for one message of that size.
  bool CoversMessage(int64_t message_bytes) const { return messages >= 1 && bytes >= message_bytes; }
  RoomAmount& operator+=(const RoomAmount& other) {
    messages += other.messages;
    bytes += other.bytes;
    return *this;
  }
  RoomAmount& operator-=(const RoomAmount& other) {
    messages -= other.messages;
    bytes -= other.bytes;
    return *this;
  }
  friend bool operator==(const RoomAmount&, const RoomAmount&) = default;
};

// An amount of room in one mailbox of an actor of this system, for messages from `node`.
struct RoomRequest {
  NodePlace node;
  Pid to;
  uint32_t mailbox = 0;  // hash of the wire name
  RoomAmount amount;
};

// The result of a reservation.
struct ReservedRoom {
  RoomAmount amount;        // at most the requested amount; may be zero
  bool is_awaited = false;  // nothing was reserved, because senders wait for room of that actor and come first
};

// A sender of another node that waits for room (Channel::SendWhenRoom). The transport
// chooses `session` and `want`; together with `room.node` they identify the wait, and are
// never reused.
struct RoomWait {
  RoomRequest room;
  uint64_t session = 0;
  uint64_t want = 0;
};

// Says that messages from another node have left a mailbox, so that their room is free.
struct ReleasedMessages {
  NodePlace node;  // of the senders
  Pid receiver;
  uint32_t mailbox = 0;  // hash of the wire name
  Admission admission = Admission::kAllowance;
  // `bytes` is the size of their wire form, or -1 if the mailbox has no bound in bytes and does not count them.
  RoomAmount amount;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_ROOM_H_

// Room in mailboxes for messages from other nodes.
//
// A message from another node is accepted in one of two ways. Most are covered
// by a reservation: room that the receiving system took out of the mailbox's own
// bounds, at its gate, before the sender's node was told that it may send. The
// first few to a mailbox are covered by the session's first allowance, which
// lies beside the mailbox's capacity and needs no round trip.
#ifndef UNDERSTUDY_ACTORS_ROOM_H_
#define UNDERSTUDY_ACTORS_ROOM_H_

#include <cstdint>

#include "understudy/actors/pid.h"

namespace understudy {

// What covers a message from another node.
enum class Admission : uint8_t { kAllowance, kReserved };

// A number of messages, and of bytes of their wire form.
struct RoomAmount {
  int64_t messages = 0;
  int64_t bytes = 0;

  bool is_zero() const { return messages == 0 && bytes == 0; }
  // There is room for one message of so many bytes.
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

// Room of one mailbox of an actor of this system, for that node.
struct RoomRequest {
  NodePlace node;
  Pid to;
  uint32_t mailbox = 0;  // hash of the wire name
  RoomAmount amount;
};

// What a reservation got.
struct ReservedRoom {
  RoomAmount amount;        // at most what was asked for; perhaps nothing
  bool is_awaited = false;  // senders wait for room of that actor: they are served before
};

// A sender of another node that waits for room (Channel::SendWhenRoom). The
// transport chooses the numbers: with `room.node` they name one wait, for ever.
struct RoomWait {
  RoomRequest room;
  uint64_t session = 0;
  uint64_t want = 0;
};

// Messages of another node that left one mailbox.
struct ReleasedMessages {
  NodePlace node;  // of the senders
  Pid receiver;
  uint32_t mailbox = 0;  // hash of the wire name
  Admission admission = Admission::kAllowance;
  // `bytes` of their wire form; -1 where the mailbox has no bound in bytes and does not know.
  RoomAmount amount;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_ROOM_H_

// Router: the only way out of a node. Everything that an actor sends to an actor of
// another node goes through it; local sends do not.
//
// A transport implements Router and is installed in an ActorSystem
// (ActorSystem::InstallRouter). It gives what arrives from other nodes to the system's
// Inbound. Without a router every send to another node answers NoConnection.
//
// The router knows the asks, monitors and links that depend on each session. When a
// session ends, it answers each ask with NoConnection, and delivers one Down for each
// monitor and one exit for each link, both with the reason NoConnection.
#ifndef UNDERSTUDY_ACTORS_ROUTER_H_
#define UNDERSTUDY_ACTORS_ROUTER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/dead_letter.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/actors/trace.h"

namespace understudy {

// A message for another node. The sender still owns it: a router that accepts it
// serialises it during the call.
struct OutboundMessage {
  Pid from;  // null when a plain thread sends
  Pid to;
  uint32_t mailbox = 0;  // hash; internal::MailboxNames has the name
  uint64_t ask = 0;      // 0 for a tell
  MonotonicTime deadline = MonotonicTime::InfiniteFuture();
  const internal::MessageType* type = nullptr;
  const void* value = nullptr;
  const internal::TracePart* trace = nullptr;  // null if it belongs to no trace
};

// Any thread. Implementations do not call back into user code.
class Router {
 public:
  virtual ~Router() = default;

  // Accepts the message and returns OK, or refuses it: with Full, NoConnection,
  // NoProcess if that incarnation of the node is gone, or InvalidArgument if the type
  // does not cross nodes. One sender's messages and signals to one node keep their order.
  virtual absl::Status Send(const OutboundMessage& message) = 0;

  // Like Send, but lets the sender wait if there is no room. Returns nullopt if it waits.
  // Then the sender gets one reply to `wait`, which is an ask of its own: OK if room is
  // now kept for the message, at the receiver and on the way; otherwise the reason why it
  // never will be, such as the end of the receiver or of the session. A sender does not
  // overtake others that wait for the same mailbox. Returns Full if as many senders wait
  // as the transport allows.
  virtual absl::optional<absl::Status> SendOrWait(const OutboundMessage& message, uint64_t wait) = 0;
  // Like Send, but uses the room that is kept for `wait`. Returns NoConnection if the
  // session in which it was kept has ended. In every case the room is not kept any longer.
  virtual absl::Status SendInRoom(const OutboundMessage& message, uint64_t wait) = 0;
  // Call when the sender gives up, before or after the reply to `wait`. Does nothing if it
  // does not wait and no room is kept for it.
  virtual void StopWaiting(Pid from, uint64_t wait) = 0;

  // Sends a signal of any kind. A link or monitor that cannot be delivered is answered by
  // an exit or Down with NoConnection, or with NoProcess if that incarnation of the node
  // is gone. An undeliverable reply is dropped.
  virtual void Post(Signal signal) = 0;

  // Call when messages from another node have left their mailbox.
  virtual void Released(const ReleasedMessages& messages) = 0;

  // Call when a sender found no room in that mailbox although reserved room is unused.
  // Asks the nodes that have the reservations to give them back.
  virtual void AskBack(Pid receiver, uint32_t mailbox) = 0;

  // Answers Inbound::WaitForRoom. OK means that the room is reserved, and the transport
  // must use it or give it back; with any other status nothing is reserved.
  virtual void EndWait(const RoomWait& wait, absl::Status status) = 0;
};

// Inbound: takes the messages and signals that a transport delivers. Implemented by
// ActorSystem. Any thread; returns without running user code.
class Inbound {
 public:
  virtual ~Inbound() = default;

  // Delivers a message from another node, whose payload is unparsed bytes. Returns OK, or
  // NoProcess, NoMailbox or Stopping, which the transport reports to the sender's node. A
  // message is never refused for lack of room, because its `admission` covers it.
  virtual absl::Status Deliver(internal::Message message) = 0;
  virtual void Deliver(Signal signal) = 0;
  // Call when another node has refused a tell of this system; it becomes a dead letter here.
  virtual void OnRefusedTell(const DeadLetter& letter) = 0;

  // Returns false if the pid, which is of this system, was never an actor's, so that the
  // message that names it is forged. May be called under a lock.
  virtual bool WasGivenOut(Pid pid) const = 0;

  // Reserves room within the mailbox's capacity for messages from a node: as much as is
  // free, up to `request.amount` and the node's fair share. Reserves nothing if the actor
  // has not started or has ended.
  virtual ReservedRoom Reserve(const RoomRequest& request) = 0;
  // Returns room that was reserved and not used.
  virtual void GiveBack(const RoomRequest& request) = 0;

  // Puts a sender of another node into the line of senders that wait for room in the
  // mailbox, behind all earlier ones of this node and of others. Router::EndWait is called
  // once, perhaps before this returns: with OK when the sender's turn has come, or with
  // NoProcess, NoMailbox or Stopping if it never comes.
  virtual void WaitForRoom(const RoomWait& wait) = 0;
  // Takes the sender out of the line. Does nothing if Router::EndWait has been called for
  // it, or is about to be called by another thread.
  virtual void StopWaiting(const RoomWait& wait) = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_ROUTER_H_

// Router: the one way out of a node. Everything that an actor sends to an
// actor of another node goes through it; local sends never see it.
//
// A transport implements Router and is installed in an ActorSystem
// (ActorSystem::InstallRouter). In the other direction it hands what arrives
// to the system's Inbound. Without a router every remote send answers
// NoConnection.
//
// The router keeps what hangs on a session: when one ends it answers each ask
// over it with NoConnection, and delivers for each monitor a Down, and for
// each link an exit, with NoConnection, once.
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

namespace understudy {

// A message for another node, still its sender's: the router serialises it
// during the call if it accepts it.
struct OutboundMessage {
  Pid from;  // null when a plain thread sends
  Pid to;
  uint32_t mailbox = 0;  // hash; internal::MailboxNames has the name
  uint64_t ask = 0;      // 0 for a tell
  MonotonicTime deadline = MonotonicTime::InfiniteFuture();
  const internal::MessageType* type = nullptr;
  const void* value = nullptr;
};

// Any thread. Implementations do not call back into user code.
class Router {
 public:
  virtual ~Router() = default;

  // Accepts or refuses (Full, NoConnection, InvalidArgument when the type does
  // not cross nodes). One sender's messages and signals to one node keep their
  // order.
  virtual absl::Status Send(const OutboundMessage& message) = 0;

  // Send, where the sender waits if there is no room; `wait` is an ask of its
  // own. Nothing when it waits: then one reply to that ask comes, OK when room is
  // kept for the message, there and on its way, else why there never is (the
  // receiver's end, the session's). It does not overtake senders that wait for
  // the same mailbox. At most so many wait as the transport says; one more is
  // refused with Full.
  virtual absl::optional<absl::Status> SendOrWait(const OutboundMessage& message, uint64_t wait) = 0;
  // Send, into the room that is kept for that ask. NoConnection when the session
  // that kept it is gone. The room is kept no longer, whatever the answer is.
  virtual absl::Status SendInRoom(const OutboundMessage& message, uint64_t wait) = 0;
  // The sender gives up, whether room is kept for it by now or not. Nothing when
  // it does not wait.
  virtual void StopWaiting(Pid from, uint64_t wait) = 0;

  // Link, unlink, monitor, demonitor, exit, kill, request stop, cancel, reply,
  // down. What cannot be delivered is answered by a signal, never by a return:
  // a Link or Monitor to a node out of reach gives an exit or Down with
  // NoConnection, and an unreachable reply is dropped.
  virtual void Post(Signal signal) = 0;

  // Messages that another node sent have left their mailbox.
  virtual void Released(const ReleasedMessages& messages) = 0;

  // A sender found no room in that mailbox while reserved room lies unused:
  // the nodes that hold it are asked to give it back.
  virtual void AskBack(Pid receiver, uint32_t mailbox) = 0;

  // The answer to Inbound::WaitForRoom: OK, its room is reserved and now the
  // transport's to use or give back; else nothing is reserved.
  virtual void EndWait(const RoomWait& wait, absl::Status status) = 0;
};

// Where a transport delivers. Implemented by ActorSystem. Any thread; returns
// without running user code.
class Inbound {
 public:
  virtual ~Inbound() = default;

  // A message from another node, its payload still bytes. Accepted, or refused
  // with NoProcess, NoMailbox or Stopping: then the transport answers. Never
  // refused for lack of room: `message.admission` says what covers it.
  virtual absl::Status Deliver(internal::Message message) = 0;
  virtual void Deliver(Signal signal) = 0;
  // A tell of this system that another one refused at its arrival is a dead letter here.
  virtual void OnRefusedTell(const DeadLetter& letter) = 0;

  // False when the pid, of this system, was never an actor's: what brought it is
  // forged. May be called under a lock.
  virtual bool WasGivenOut(Pid pid) const = 0;

  // Takes room out of the mailbox's own bounds, for messages of that node: what
  // is free, up to `amount` and to the node's fair share. Nothing when the actor
  // has not started or has ended.
  virtual ReservedRoom Reserve(const RoomRequest& request) = 0;
  // Room that was reserved and not used goes back.
  virtual void GiveBack(const RoomRequest& request) = 0;

  // A sender of another node enters the line of those that wait for room in that
  // mailbox, behind all that came before, of this node and of others. EndWait
  // answers once, perhaps before this returns: when its turn has come, or with
  // NoProcess, NoMailbox or Stopping when it never does.
  virtual void WaitForRoom(const RoomWait& wait) = 0;
  // It leaves the line. Nothing when it was answered; the answer may be on its way.
  virtual void StopWaiting(const RoomWait& wait) = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_ROUTER_H_

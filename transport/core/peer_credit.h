// PeerCredit: a node's part of the credit of one session (credit.h), in both directions:
// what its actors may send to mailboxes of the peer, and what the peer may send here. It
// also keeps the senders of this node that have room in a mailbox of the peer, until the
// session itself has room for their messages.
//
// A state machine without a lock or a clock. Its caller reports what is sent, what arrives
// and leaves, and what the peer and the system say. What is to be done collects in two
// lists, which the caller takes after each call: the changes of credit that the peer is to
// be told (TakeTold), and the work for the system (TakeWork). Both are to be done in their
// order.
//
// There is at most one session at a time, from Begin to End. Without one, all accounts are
// as at the beginning of a session, and nothing is due.
#ifndef UNDERSTUDY_TRANSPORT_CORE_PEER_CREDIT_H_
#define UNDERSTUDY_TRANSPORT_CORE_PEER_CREDIT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/core/credit_receiver.h"
#include "understudy/transport/core/credit_sender.h"

namespace understudy::internal {

class PeerCredit {
 public:
  // A sender that waits is told by a reply to its wait.
  using Waiter = CreditSender::Waiter;
  // Whether so many bytes of credit wait to be sent that only changes which the peer must be told may be added.
  enum class Backlog : uint8_t { kSmall, kLarge };

  // ---- Work for the system ----

  // Call TakeDue, reserve what it returns, and report it by OnReserved.
  struct ReserveDue {};
  // Give reserved room back to its mailbox.
  struct RoomReturn {
    RoomRequest room;
  };
  // A sender of the peer enters the line of those that wait for room, or leaves it.
  struct LineChange {
    enum class Kind : uint8_t { kEnters, kLeaves } kind;
    RoomWait wait;
  };
  // A Signal is to be delivered to an actor of this node.
  using Work = std::variant<ReserveDue, RoomReturn, LineChange, Signal>;

  // `peer` is the peer's name, for error texts. A change of credit waits for `delay` so that others travel with it,
  // unless the peer may need it sooner.
  PeerCredit(absl::string_view peer, absl::Duration delay) : peer_(peer), delay_(delay) {}

  // A session begins with the incarnation at `place`; `session` is its number (RoomWait). `features` are those that
  // both ends have (session/handshake.h).
  void Begin(NodePlace place, uint64_t session, uint64_t features);
  // The session is over: all senders that wait for the peer are told so, and what is reserved for the peer is returned.
  void End();

  // ---- What actors of this node send ----

  // As CreditSender::Find.
  absl::optional<Admission> Find(const MailboxAddress& to, int64_t bytes) const { return out_.Find(to, bytes); }
  // Like Find for a sender that is willing to wait: nothing if another one waits before it.
  absl::optional<Admission> FindInTurn(const MailboxAddress& to, int64_t bytes) const;
  // A message was sent by `admission`, which Find or FindInTurn returned.
  void OnSent(const MailboxAddress& to, int64_t bytes, Admission admission) { out_.OnSent(to, bytes, admission); }
  // Find returned nothing, and the sender does not wait. Returns the error for it, and asks the peer for credit.
  absl::Status OnFull(const MailboxAddress& to, int64_t bytes, Backlog backlog);
  // `waiter` begins to wait for room for a message of `bytes` bytes. Returns Full if too many wait already.
  absl::Status Wait(const MailboxAddress& to, int64_t bytes, const Waiter& waiter);
  // Whether `waiter` has room in its mailbox, and the bytes that the session keeps for it.
  bool HasRoom(const Waiter& waiter) const { return out_.HasRoom(waiter); }
  size_t KeptBytes(const Waiter& waiter) const;
  // The message of `waiter` was sent into its room. Requires HasRoom.
  void OnSentInRoom(const Waiter& waiter);
  // `waiter` does not wait any more, or will not use its room. Returns the bytes that the session need not keep for it
  // any more; nothing if it neither waits nor has room.
  absl::optional<size_t> GiveUp(const Waiter& waiter);
  // Tells the senders that have room in their mailboxes to send, in the order in which they got it, while `keep` finds
  // room in the session for so many bytes.
  void ServeLine(absl::FunctionRef<bool(size_t bytes)> keep);

  // ---- What the peer sends ----

  // Each does the same as the function of its name in CreditReceiver. Call Schedule afterwards; one call of Schedule
  // may follow several of these.
  [[nodiscard]] bool OnArrived(const MailboxAddress& to, int64_t bytes, Admission admission, MonotonicTime now) {
    return in_.OnArrived(to, bytes, admission, now);
  }
  void OnReleased(const MailboxAddress& to, Admission admission, const RoomAmount& amount) {
    in_.OnReleased(to, admission, amount);
  }
  // The peer told that change. Returns InvalidArgument if it is nonsense, so that the frame is bad. Call Schedule
  // afterwards.
  absl::Status OnChange(const CreditChange& change, MonotonicTime now);
  // The mailbox's line answered a sender of the peer that waits in this session (Router::EndWait). Call Schedule
  // afterwards.
  void OnTurn(const RoomWait& wait, const absl::Status& status, MonotonicTime now);
  // Other senders want the room that the peer has in that mailbox.
  void AskBack(const MailboxAddress& to, Backlog backlog);

  // ---- What is due ----

  // Arranges what is to be done for the peer: as work if it is urgent, else by a Tick.
  void Schedule(MonotonicTime now);
  // When Tick is to be called; InfiniteFuture when nothing is due.
  MonotonicTime NextDeadline() const { return std::min(due_at_, look_at_); }
  void Tick(MonotonicTime now, Backlog backlog);
  // For ReserveDue: returns the room to reserve for the peer; for each request OnReserved says what was reserved. While
  // the backlog is large it returns nothing, and a Tick comes later.
  std::vector<RoomRequest> TakeDue(MonotonicTime now, Backlog backlog);
  void OnReserved(const RoomRequest& request, const ReservedRoom& reserved);

  bool has_actions() const { return !told_.empty() || !work_.empty(); }
  CreditChanges TakeTold() { return std::exchange(told_, {}); }
  std::vector<Work> TakeWork() { return std::exchange(work_, {}); }

  // ---- Observers ----

  // Room that is granted and not used: by the peer to this node, and by this node to the peer.
  RoomAmount held() const { return out_.granted(); }
  RoomAmount given() const { return in_.granted(); }
  // The sends that OnFull refused, in all sessions.
  int64_t refused() const { return refused_; }

 private:
  // A sender of this node for whose message the peer has reserved room in its mailbox.
  struct GrantedSender {
    Waiter waiter;
    Pid to;
    size_t bytes_max = 0;  // of its envelope
  };

  absl::Status OnWantAnswered(const CreditChange& answer);
  absl::Status OnPeerWaits(const CreditChange& want);
  void OnPeerGaveUp(const CreditChange& change);
  // Has the senders of the peer that may do so enter the lines of their mailboxes.
  void EnterLines();
  RoomRequest RequestOf(const MailboxAddress& to, const RoomAmount& amount) const;
  RoomWait WaitOf(const CreditReceiver::Waiting& sender) const;
  void TellOfEnd(const Waiter& waiter, Pid to, absl::string_view awaited);

  const std::string peer_;
  const absl::Duration delay_;
  // The place of the session's peer.
  NodePlace place_;
  uint64_t session_ = 0;
  CreditSender out_;
  CreditReceiver in_;
  // The senders of this node that have room in a mailbox of the peer and wait for room in the session, in the order in
  // which they got it. Those that gave up meanwhile are passed over.
  std::deque<GrantedSender> line_;
  std::map<Waiter, size_t> kept_bytes_;                     // what the session keeps for senders that were told to send
  MonotonicTime due_at_ = MonotonicTime::InfiniteFuture();  // when room is to be reserved
  MonotonicTime look_at_ = MonotonicTime::InfiniteFuture();  // when to look for room that is not used
  bool is_reserving_ = false;                                // a ReserveDue was said, and TakeDue was not called

  CreditChanges told_;
  std::vector<Work> work_;
  int64_t refused_ = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CORE_PEER_CREDIT_H_

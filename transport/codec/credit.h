// Credit: what two nodes tell each other about room in one's mailboxes for the
// other's messages. CreditSender is the sending end, CreditReceiver the
// receiving end; both are plain state machines of one session.
//
// Each mailbox of a peer has two kinds of credit:
// - The first allowance (CreditTerms): the sender has it without asking. It
//   lies beside the mailbox's capacity, so that first contact needs no round
//   trip and is not refused however full the mailbox is. It comes back when its
//   messages have left the mailbox and no sender waits there for room.
// - Granted room: reserved by the receiver in the mailbox's own bounds before it
//   is granted (RemoteRoom), so a message that uses it always finds its place.
//
// A message uses granted room if there is enough for it in messages and bytes,
// else the allowance, else it is not sent: Full, and the sender asks for credit.
// No message waits in a session for credit. The message says which kind it uses,
// so both ends keep the same accounts, and a peer that exceeds its own ends its
// session.
//
// A sender may wait for room with its message (Channel::SendWhenRoom). Its node sends a
// numbered want, which enters the line of all senders that wait for that mailbox. When its
// turn comes, the receiver sends a grant with that number, for exactly the room that the
// want asked for, and no other sender uses that room. The sender is told once the session
// has room for the message's bytes as well, in the order of the grants, and the session
// keeps that room until the message comes (ReliableSequence::Keep). A want is answered
// once, by its grant or by a refusal. A sender that gives up withdraws its want, which is
// answered all the same; a grant that comes then is returned. A number is therefore free
// again when its answer has come, and a session has at most limits::kWantsPerSessionMax
// wants.
//
// An allowance covers a message of any size while any of its bytes are left, so in each
// mailbox at most one message exceeds it, by less than its own size. In a session with
// a node that does not offer kFeatureLargeAfterSmall (session/handshake.h), a message
// that is larger than the bytes that are left needs an allowance of which nothing is in
// use. The allowances in use of all mailboxes of a session are bounded together
// (kSessionAllowanceMax), and so are the bytes by which large messages exceed their
// allowances (AllowancesInUse).
//
// The bytes of messages that a node holds for one peer are at most the sum of
// - for each of its mailboxes, the peer's granted room, which is part of the mailbox's
//   own capacity;
// - kSessionAllowanceMax.bytes for the allowances of all mailboxes;
// - as many bytes again for large messages, or one of limits::kMessageBytesMax;
// - limits::kBytesInPartsMax for messages whose last part has not arrived;
// - the bytes that the session itself keeps (peer_session.h).
// Messages that have left their mailboxes are not counted: those that an actor keeps, and
// those in the hands of suspended Interleaved handlers, whose number a guard may bound.
// A node keeps accounts for at most limits::kMailboxesWithGrantsMax mailboxes with
// granted room that is not used, and for limits::kCreditAccountsMax mailboxes in all.
#ifndef UNDERSTUDY_TRANSPORT_CODEC_CREDIT_H_
#define UNDERSTUDY_TRANSPORT_CODEC_CREDIT_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/transport/limits.h"

namespace understudy {

// Identifies a mailbox: its actor and the hash of its wire name.
using MailboxAddress = std::pair<Pid, uint32_t>;

// The credit with which a session begins for each mailbox. Both ends use the same terms.
struct CreditTerms {
  // When a first allowance covers a message that is larger than the allowance's remaining bytes.
  enum class LargeMessages : uint8_t {
    kNeedUntouched,  // nothing of the allowance is in use
    kNeedBytes,      // any of its bytes
  };

  // The credit that a sender has without asking: enough for a few dozen actors that ask the same actor at once.
  RoomAmount first_allowance{.messages = 32, .bytes = 64 << 10};
  // The first window that a receiver grants; it doubles while it is used up.
  int64_t first_window_messages = 32;
  LargeMessages large_messages = LargeMessages::kNeedBytes;
};
inline constexpr CreditTerms kCreditTerms;

// The most allowance in use in all mailboxes together. Messages are bounded too: one without payload costs memory.
inline constexpr RoomAmount kSessionAllowanceMax{.messages = 65536, .bytes = 16 << 20};
// The largest window, also for a mailbox of larger capacity.
inline constexpr int64_t kWindowMessagesMax = int64_t{1} << 20;
// Granted room that was not used for this long is asked back. It is much longer than a
// round trip, so that a steady sender keeps its window.
inline constexpr absl::Duration kCreditIdle = absl::Seconds(1);
// The most changes in one envelope that a node reads, and that it writes. The latter fit even if all are refusals.
inline constexpr int kCreditChangesMax = 1024;
inline constexpr size_t kCreditChangesTold = 256;
static_assert(kCreditChangesTold * (limits::kCreditChangeBytesMax + limits::kCreditReasonBytesMax) <=
              limits::kNodesEnvelopeBytesMax);
// The most granted room of one mailbox; a peer that counts more sends bad frames.
inline constexpr RoomAmount kGrantedMax{.messages = int64_t{1} << 32, .bytes = int64_t{1} << 48};
// The most granted room of all mailboxes together: the largest windows of all mailboxes fit, and no sum overflows.
inline constexpr RoomAmount kGrantedInAllMax{.messages = int64_t{1} << 40, .bytes = int64_t{1} << 48};
static_assert(static_cast<int64_t>(limits::kMailboxesWithGrantsMax) * kWindowMessagesMax <= kGrantedInAllMax.messages);
static_assert(static_cast<int64_t>(limits::kMailboxesWithGrantsMax * limits::kMessageBytesMax) <=
              kGrantedInAllMax.bytes);

struct CreditChange {
  // The numbers are the wire's.
  enum class Kind : uint8_t {
    kGrant = 1,     // `granted` is reserved for the peer, and `allowance` is given back to it
    kWant = 2,      // a sender found no credit for a message of `granted.bytes`; `want` is not 0 if it waits for room
    kTakeBack = 3,  // asks the peer to return up to `granted` of the room that it has not used
    kReturn = 4,    // `granted` will not be used; or, with a `want`, its sender no longer waits
    kRefuse = 5,    // the sender of `want` gets no room, because of `status`
  };
  Kind kind = Kind::kGrant;
  Pid to;
  uint32_t mailbox = 0;
  RoomAmount granted;
  RoomAmount allowance;
  uint64_t want = 0;  // the number of the want that this change is from or for, or 0
  absl::Status status;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CODEC_CREDIT_H_

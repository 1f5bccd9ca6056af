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
// A sender may wait for room (Channel::SendWhenRoom), with its message: a want
// with a number enters the line of all that wait for that mailbox, and its turn
// brings a grant with that number, of exactly the room that it asked for, which
// no other sender uses. Its sender is told when the session, too, has room for the
// message's bytes, in the order of the grants, and the session keeps that room until
// the message comes (ReliableSequence::Keep). A want is answered once, by that grant or by a
// refusal. A sender that gives up withdraws its want; it is answered all the same,
// and a grant that comes then is returned. So a number is free again when its answer
// is there, and a session has at most limits::kWantsPerSessionMax of them.
//
// A message larger than what is left of the allowance's bytes may use a whole
// allowance that is untouched. All allowances of a session in use are bounded
// together (kSessionAllowanceMax), and so is what large messages use beyond theirs
// (AllowancesInUse).
//
// What a node holds for one peer, in bytes of messages: for each of its
// mailboxes at most what the peer's granted room took out of the mailbox's own
// bound; in all kSessionAllowanceMax.bytes beside; as many again of large messages,
// or one of limits::kMessageBytesMax; those whose last part has not come,
// limits::kBytesInPartsMax; and what the session itself keeps (peer_session.h).
// Accounts: at most limits::kMailboxesWithGrantsMax mailboxes with granted room that
// is not used, and limits::kCreditAccountsMax in all.
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

// A mailbox: its actor and the hash of its wire name.
using MailboxAddress = std::pair<Pid, uint32_t>;

// What a session begins with for each mailbox. Both ends have the same.
struct CreditTerms {
  // Without asking: what a node sends at once to a mailbox that it has not used lately, as a few dozen actors that ask
  // the same one do.
  RoomAmount first_allowance{.messages = 32, .bytes = 64 << 10};
  // The first window that a receiver grants; it doubles while it is used up.
  int64_t first_window_messages = 32;
};
inline constexpr CreditTerms kCreditTerms;

// In use in all mailboxes together: messages of empty payload cost memory too.
inline constexpr RoomAmount kSessionAllowanceMax{.messages = 65536, .bytes = 16 << 20};
// A window is no larger, however large the mailbox is.
inline constexpr int64_t kWindowMessagesMax = int64_t{1} << 20;
// Granted room that was not used for so long is asked back. Much longer than a
// round trip, so that a steady sender keeps its window.
inline constexpr absl::Duration kCreditIdle = absl::Seconds(1);
// Changes in one envelope: as many are read, and so many are written, which also fit when all of them are refusals.
inline constexpr int kCreditChangesMax = 1024;
inline constexpr size_t kCreditChangesTold = 256;
static_assert(kCreditChangesTold * (limits::kCreditChangeBytesMax + limits::kCreditReasonBytesMax) <=
              limits::kNodesEnvelopeBytesMax);
// Granted room of one mailbox, in a sane peer's count.
inline constexpr RoomAmount kGrantedMax{.messages = int64_t{1} << 32, .bytes = int64_t{1} << 48};
// Granted room of all mailboxes together: what the largest windows of all of them need fits, and no sum overflows.
inline constexpr RoomAmount kGrantedInAllMax{.messages = int64_t{1} << 40, .bytes = int64_t{1} << 48};
static_assert(static_cast<int64_t>(limits::kMailboxesWithGrantsMax) * kWindowMessagesMax <= kGrantedInAllMax.messages);
static_assert(static_cast<int64_t>(limits::kMailboxesWithGrantsMax * limits::kMessageBytesMax) <=
              kGrantedInAllMax.bytes);

struct CreditChange {
  // The numbers are the wire's.
  enum class Kind : uint8_t {
    kGrant = 1,     // `granted` is reserved for the peer, and `allowance` comes back to it
    kWant = 2,      // a sender found no credit for a message of `granted.bytes`; `want` is not 0 if it waits for room
    kTakeBack = 3,  // the peer is asked to return up to `granted`, as far as it is not used
    kReturn = 4,    // `granted` will not be used; or, with a `want`, that sender does not wait any more
    kRefuse = 5,    // the sender of `want` waits in vain: `status`
  };
  Kind kind = Kind::kGrant;
  Pid to;
  uint32_t mailbox = 0;
  RoomAmount granted;
  RoomAmount allowance;
  uint64_t want = 0;  // the waiting sender that it is from or for, or 0
  absl::Status status;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CODEC_CREDIT_H_

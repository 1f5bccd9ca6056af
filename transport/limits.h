// Bounds of what nodes keep and write, each with its reason. Those that other
// layers need too are in actors/limits.h.
#ifndef UNDERSTUDY_TRANSPORT_LIMITS_H_
#define UNDERSTUDY_TRANSPORT_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "understudy/actors/limits.h"

namespace understudy::limits {

// What an envelope that is kept costs beside its bytes.
inline constexpr size_t kSlotOverheadBytes = 128;

// ---- What one end of a session keeps until the peer acknowledges it, by kind. A peer that does not read makes this
// node keep their sum, and no more. ----

// Messages that a session accepted; beyond it senders are refused.
inline constexpr size_t kSessionMessageBytesMax = size_t{56} << 20;
// Replies; beyond it the asker gets ResourceExhausted in place of the reply.
inline constexpr size_t kSessionReplyBytesMax = size_t{64} << 20;
// In number, so that the peer's answers to them are bounded too; beyond it senders are refused.
inline constexpr size_t kSessionMessagesMax = size_t{1} << 17;
// Calls of one node's actors at another that are neither answered nor given up; beyond it the asker is refused. A peer
// that has twice as many sends a bad frame (some that were given up may be overtaken by new ones on the way).
inline constexpr size_t kAsksPerSessionMax = size_t{1} << 16;
// A reply of at most so many bytes counts as an answer: nothing shorter could be sent in its place.
inline constexpr size_t kAnswerBytesMax = 512;
// The reason in a refusal of a message: a longer one is cut, so that the refusal is no larger than an answer.
inline constexpr size_t kAnswerReasonBytesMax = 256;
// Answers: short replies, and refusals of the peer's messages. While the peer acknowledges none they are answers to
// messages of its own that it holds unacknowledged (no more than it may send), or to calls that it had open when its
// acknowledgements stopped coming. A call that was given up is not answered. So answers always find room.
inline constexpr size_t kSessionAnswerBytesMax = size_t{128} << 20;
static_assert((kSessionMessagesMax + kAsksPerSessionMax) * (kSlotOverheadBytes + kAnswerBytesMax) <=
              kSessionAnswerBytesMax);
// Exits, Downs, links, monitors and the like, which must get through when messages are already refused.
inline constexpr size_t kSessionSignalBytesMax = size_t{8} << 20;
// What is said of credit. The assertion below shows that all that must be said has room; what can wait (grants of
// windows, requests for a grant or for its return) is said only while no more than kCreditUnhurriedBytesMax wait.
inline constexpr size_t kSessionCreditBytesMax = size_t{32} << 20;
inline constexpr size_t kCreditUnhurriedBytesMax = size_t{1} << 20;
// Senders of one node that wait for room of another (Channel::SendWhenRoom), those that gave up and are not answered
// included.
inline constexpr size_t kWantsPerSessionMax = size_t{1} << 14;
// Mailboxes of one node in which another has room that was granted and is not used: as many as may be written to by
// first allowances. Others are granted nothing until some of it is used or returned.
inline constexpr size_t kMailboxesWithGrantsMax = size_t{1} << 16;
// Mailboxes of a peer that a node keeps an account of credit for: those above, as many whose allowance is in use, and
// those for whose senders the peer was asked.
inline constexpr size_t kCreditAccountsMax = 4 * kMailboxesWithGrantsMax;
// A change of credit on the wire, and what a refusal adds to it: a longer reason is cut.
inline constexpr size_t kCreditChangeBytesMax = 96;
inline constexpr size_t kCreditReasonBytesMax = 256;
// All that must be said of credit while the peer acknowledges nothing: of each own sender that waits its want, its
// withdrawal and the return of a grant that crossed that, and the answer to each of the peer's; the return of each
// grant that the peer asks back; and what can wait, whose last piece may be a grant for each mailbox.
static_assert(kWantsPerSessionMax * (3 * (kSlotOverheadBytes + kCreditChangeBytesMax) +
                                     (kSlotOverheadBytes + kCreditChangeBytesMax + kCreditReasonBytesMax)) +
                  kMailboxesWithGrantsMax * kCreditChangeBytesMax + kCreditUnhurriedBytesMax +
                  kMailboxesWithGrantsMax * kCreditChangeBytesMax <=
              kSessionCreditBytesMax);
// Names: the parts that the peer has not taken (name_limits.h), 8 of 160 KiB at most, and acknowledgements of its own.
inline constexpr size_t kSessionNameBytesMax = size_t{2} << 20;

// What has come, counted as the sender counts it, is acknowledged at once when it is so much; an acknowledgement of
// less waits up to SessionTimes::acknowledge_delay for a frame to travel with. At most half of each kind's bound, so
// that a sender of small envelopes has the other half meanwhile. One message or reply may exceed its bound when no more
// than this is unacknowledged: else one that needs nearly all of it would be refused until then.
inline constexpr size_t kUnacknowledgedBytesMax = size_t{1} << 20;
static_assert(2 * kUnacknowledgedBytesMax <= kSessionNameBytesMax && kSessionNameBytesMax < kSessionSignalBytesMax);
static_assert(kSessionNameBytesMax < kSessionMessageBytesMax);

// Memory of frames that is kept for the next ones, in all of the process: enough for a few busy sessions, 1 MiB.
inline constexpr size_t kFrameMemoriesMax = 16;
// The same of runs: 1 MiB.
inline constexpr size_t kRunMemoriesMax = 256;
// ---- What waits for the program. ----

// Calls that wait on one UserThread (user_thread.h), for the user's log sink and listeners or for NodeOptions::on_peer:
// a slow one costs some MiB. Four for each peer, as when all of them are lost and come back.
inline constexpr size_t kUserCallsMax = 4 * kPeersMax;

// ---- What gRPC keeps. ----

// Of what peers wrote and the node has not read, in all: a quarter of a MiB for each of kPeersMax peers.
inline constexpr size_t kReceivedBytesMax = kPeersMax * (size_t{256} << 10);

// ---- Envelopes in parts ----

// Large envelopes whose parts may be interleaved: their senders share the wire, and more wait their turn.
inline constexpr uint32_t kEnvelopesInPartsMax = 64;
// The highest number is kept for envelopes of the node itself, which wait for no sender.
inline constexpr uint32_t kNodesPartNumber = kEnvelopesInPartsMax;
// The largest envelope of the node itself: a part of names (kNamePartBytesMax), or kCreditChangesMax changes of credit.
inline constexpr size_t kNodesEnvelopeBytesMax = size_t{192} << 10;
// Bytes of all of them together, which the receiver holds until their last parts are there: two of the largest of
// senders, and one of the node itself.
inline constexpr size_t kSendersBytesInPartsMax = 2 * (kMessageBytesMax + kEnvelopeOverheadBytesMax);
inline constexpr size_t kBytesInPartsMax = kSendersBytesInPartsMax + kNodesEnvelopeBytesMax;
// What one sender writes before another that waits has its turn: some 100 small messages, and eight turns a frame.
inline constexpr int64_t kSendQuantumBytes = int64_t{8} << 10;
// Small envelopes of one sender that are kept together: a small part of a frame.
inline constexpr size_t kRunBytesMax = size_t{4} << 10;
// A part is not cut smaller than this to fill up a frame.
inline constexpr size_t kPartBytesMin = 1024;

// ---- Peers whose identity is not proved. ----

// Peers that came by themselves over loopback TCP without TLS, where every process of the machine can claim every name:
// they never take the places of peers whose identity is proved, or that this node was told of.
inline constexpr size_t kUnprovedPeersMax = kPeersMax / 4;
// Places in the process-wide table of nodes that their incarnations have taken, one after another, while the system
// lives: less than a tenth of all that the table can tell apart, and a hundred MB of it. One that is restarted once a
// minute takes so many in two years.
inline constexpr int64_t kUnprovedPlacesMax = int64_t{1} << 20;

}  // namespace understudy::limits

#endif  // UNDERSTUDY_TRANSPORT_LIMITS_H_

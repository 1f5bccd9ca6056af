// Bounds on what nodes keep in memory and write, each with its reason. Bounds that other
// layers need too are in actors/limits.h.
#ifndef UNDERSTUDY_TRANSPORT_LIMITS_H_
#define UNDERSTUDY_TRANSPORT_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "understudy/actors/limits.h"

namespace understudy::limits {

// The memory that a kept envelope takes in addition to its bytes.
inline constexpr size_t kSlotOverheadBytes = 128;

// ---- The envelopes that one end of a session keeps until the peer acknowledges them, by kind. A peer that does not
// read makes this node keep the sum of these bounds, and no more. ----

// Messages that a session has accepted; beyond this bound senders are refused.
inline constexpr size_t kSessionMessageBytesMax = size_t{56} << 20;
// Replies; beyond this bound the asker gets ResourceExhausted in place of the reply.
inline constexpr size_t kSessionReplyBytesMax = size_t{64} << 20;
// The number of messages, so that the peer's answers to them are bounded too; beyond it senders are refused.
inline constexpr size_t kSessionMessagesMax = size_t{1} << 17;
// Calls of one node's actors to actors of another that are neither answered nor given up; beyond this bound the asker
// is refused. A peer that has twice as many sends a bad frame (twice, because new calls may overtake the news that
// others were given up).
inline constexpr size_t kAsksPerSessionMax = size_t{1} << 16;
// A reply of at most this size counts as an answer, because an error in its place would not be shorter.
inline constexpr size_t kAnswerBytesMax = 512;
// The reason in a refusal of a message. A longer reason is cut, so that the refusal is no larger than an answer.
inline constexpr size_t kAnswerReasonBytesMax = 256;
// Answers: short replies, and refusals of the peer's messages. While the peer acknowledges no answer, each answer
// is to one of the peer's unacknowledged messages (no more than it may send), or to a call that the peer had open
// when its acknowledgements stopped. A call that was given up is not answered. The assertion below therefore shows
// that answers always have room.
inline constexpr size_t kSessionAnswerBytesMax = size_t{128} << 20;
static_assert((kSessionMessagesMax + kAsksPerSessionMax) * (kSlotOverheadBytes + kAnswerBytesMax) <=
              kSessionAnswerBytesMax);
// Exits, Downs, links, monitors and the like, which must be accepted even when messages are already refused: a signal
// beyond this bound ends the session. The assertion below shows that the peer may be owed as many Downs as its actors
// may hold monitors here, whatever their reasons: above kReasonTextsBytesMax reasons travel without texts, and a
// signal is then a short one. Memory is taken only for signals that wait.
inline constexpr size_t kSessionSignalBytesMax = size_t{256} << 20;
inline constexpr size_t kReasonTextsBytesMax = kSessionSignalBytesMax / 8;
inline constexpr size_t kShortSignalBytesMax = 96;
static_assert(kTiesPerSessionMax * (kSlotOverheadBytes + kShortSignalBytesMax) + kReasonTextsBytesMax <=
              kSessionSignalBytesMax);
// Unlinks of this node's actors that the peer has not answered; one more ends the session. A peer that acknowledges
// frames and answers no unlink could otherwise make this node keep them without end. The assertion below shows that
// they are more than find room in a session whose stream is broken, so no peer that answers them is taken for such a
// one.
inline constexpr size_t kUnlinksPerSessionMax = size_t{1} << 21;
static_assert(kUnlinksPerSessionMax * kSlotOverheadBytes >= kSessionSignalBytesMax);
// Changes of credit. The assertion below shows that all changes that must be sent have room. Changes that can wait
// (grants of windows, requests for a grant or for its return) are sent only while at most kCreditUnhurriedBytesMax
// wait.
inline constexpr size_t kSessionCreditBytesMax = size_t{32} << 20;
inline constexpr size_t kCreditUnhurriedBytesMax = size_t{1} << 20;
// Senders of one node that wait for room in mailboxes of another (Channel::SendWhenRoom), including senders that gave
// up and whose wants are not answered yet.
inline constexpr size_t kWantsPerSessionMax = size_t{1} << 14;
// Mailboxes of one node in which another has granted room that is not used: as many as first allowances may be in use
// for. Further mailboxes get no grant until some of that room is used or returned.
inline constexpr size_t kMailboxesWithGrantsMax = size_t{1} << 16;
// Mailboxes of a peer for which a node keeps an account of credit: those of kMailboxesWithGrantsMax, as many whose
// allowance is in use, and those for whose senders the peer was asked for credit.
inline constexpr size_t kCreditAccountsMax = 4 * kMailboxesWithGrantsMax;
// The size of a change of credit on the wire, and the reason that a refusal adds to it. A longer reason is cut.
inline constexpr size_t kCreditChangeBytesMax = 96;
inline constexpr size_t kCreditReasonBytesMax = 256;
// The changes of credit while the peer acknowledges nothing: for each waiting sender of this node its want, its
// withdrawal and the return of a grant that crossed the withdrawal; the answer to each of the peer's wants; the
// return of each grant that the peer asks back; and the changes that can wait, the last of which may be a grant
// for each mailbox.
static_assert(kWantsPerSessionMax * (3 * (kSlotOverheadBytes + kCreditChangeBytesMax) +
                                     (kSlotOverheadBytes + kCreditChangeBytesMax + kCreditReasonBytesMax)) +
                  kMailboxesWithGrantsMax * kCreditChangeBytesMax + kCreditUnhurriedBytesMax +
                  kMailboxesWithGrantsMax * kCreditChangeBytesMax <=
              kSessionCreditBytesMax);
// Names: at most 8 parts of 160 KiB that the peer has not taken (name_limits.h), and acknowledgements of the peer's
// parts.
inline constexpr size_t kSessionNameBytesMax = size_t{2} << 20;

// Received envelopes of this size together, counted as the sender counts them, are acknowledged at once; for less the
// acknowledgement waits up to SessionTimes::acknowledge_delay for another frame to travel with. It is at most half of
// each kind's bound, so that a sender of small envelopes can use the other half meanwhile. One message or reply may
// exceed its bound while at most this much is unacknowledged: otherwise an envelope that needs nearly the whole bound
// would be refused until the delayed acknowledgement comes.
inline constexpr size_t kUnacknowledgedBytesMax = size_t{1} << 20;
static_assert(2 * kUnacknowledgedBytesMax <= kSessionNameBytesMax && kSessionNameBytesMax < kSessionSignalBytesMax);
static_assert(kSessionNameBytesMax < kSessionMessageBytesMax);

// Frame memories in the free list of the process (frame_memory.h): enough for a few busy sessions, 1 MiB.
inline constexpr size_t kFrameMemoriesMax = 16;
// Run memories in the free list of the process: 1 MiB.
inline constexpr size_t kRunMemoriesMax = 256;
// ---- The end of a node. ----

// The longest NodeOptions::drain_within: with it a drain can wait for the longest ask.
inline constexpr absl::Duration kDrainWithinMax = kAskTimeoutMax;

// ---- Calls of user code that wait. ----

// Calls that wait on one UserThread (user_thread.h), for the user's log sink and listeners or for
// NodeOptions::on_peer. If these are slow the queue takes some MiB. There is room for four calls for each peer, as
// when all peers are lost and come back.
inline constexpr size_t kUserCallsMax = 4 * kPeersMax;

// ---- Bytes that gRPC keeps. ----

// Bytes that peers wrote and the node has not read, in all: a quarter of a MiB for each of kPeersMax peers.
inline constexpr size_t kReceivedBytesMax = kPeersMax * (size_t{256} << 10);

// ---- Envelopes in parts ----

// Large envelopes whose parts may be interleaved on the stream; further large envelopes wait for their turn.
inline constexpr uint32_t kEnvelopesInPartsMax = 64;
// The highest part number is reserved for envelopes of the node itself, so that they do not wait for senders.
inline constexpr uint32_t kNodesPartNumber = kEnvelopesInPartsMax;
// The largest envelope of the node itself: a part of names (kNamePartBytesMax), or kCreditChangesTold changes of
// credit. It is also the largest envelope of senders that has no payload: protobuf may make much more memory of such an
// envelope than it has bytes.
inline constexpr size_t kNodesEnvelopeBytesMax = size_t{192} << 10;
// The error in a reply. A longer one is cut, so that its envelope is within kNodesEnvelopeBytesMax.
inline constexpr size_t kReplyStatusBytesMax = kNodesEnvelopeBytesMax - kEnvelopeOverheadBytesMax;
// Fields of an envelope without a payload for which protobuf allocates memory: submessages, texts and fields that it
// does not know, each of which may be 50 times as large as its bytes. An envelope may have kEnvelopeFieldsMin of them
// and one more for each kBytesPerEnvelopeField, which is at most some 16 times its bytes. The assertion below shows
// that there are enough for the longest exit reason; a change of credit has at most one field for 8 bytes.
inline constexpr size_t kEnvelopeFieldsMin = 1024;
inline constexpr size_t kBytesPerEnvelopeField = 8;
static_assert(kExitCausesMax * (5 + 3 * kStatusPayloadsMax) + 16 <= kEnvelopeFieldsMin);
// Bytes of all incomplete envelopes together, which the receiver holds until their last parts have come: two of the
// largest envelopes of senders, and one of the node itself.
inline constexpr size_t kSendersBytesInPartsMax = 2 * (kMessageBytesMax + kEnvelopeOverheadBytesMax);
inline constexpr size_t kBytesInPartsMax = kSendersBytesInPartsMax + kNodesEnvelopeBytesMax;
// The bytes that one sender writes before the next waiting sender has its turn: some 100 small messages, and eight
// turns a frame.
inline constexpr int64_t kSendQuantumBytes = int64_t{8} << 10;
// The size of a run: small envelopes of one sender that are kept together. It is a small part of a frame.
inline constexpr size_t kRunBytesMax = size_t{4} << 10;
// The smallest part that is cut from an envelope to fill up a frame.
inline constexpr size_t kPartBytesMin = 1024;

// ---- Peers whose identity is not proved. ----

// Peers that dialled this node over loopback TCP without TLS, where every process of the machine can claim every
// name. They never take the slots of peers whose identity is proved, or that this node was told to dial.
inline constexpr size_t kUnprovedPeersMax = kPeersMax / 4;
// Entries of the process-wide NodeTable that incarnations of such peers may take in the system's life: less than a
// tenth of the entries that the table can have, and a hundred MB of memory. A peer that restarts once a minute takes
// this many in two years.
inline constexpr int64_t kUnprovedPlacesMax = int64_t{1} << 20;

}  // namespace understudy::limits

#endif  // UNDERSTUDY_TRANSPORT_LIMITS_H_

// Bounds of what nodes keep and write, each with its reason. Those that other
// layers need too are in actors/limits.h.
#ifndef UNDERSTUDY_TRANSPORT_LIMITS_H_
#define UNDERSTUDY_TRANSPORT_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "understudy/actors/limits.h"

namespace understudy::limits {

// ---- What one end of a session keeps until the peer acknowledges it, by kind. A peer that does not read makes this
// node keep their sum, and no more. ----

// Messages that a session accepted; beyond it senders are refused.
inline constexpr size_t kSessionMessageBytesMax = size_t{56} << 20;
// Replies; beyond it the asker gets ResourceExhausted in place of the reply.
inline constexpr size_t kSessionReplyBytesMax = size_t{64} << 20;
// A reply of at most so many bytes counts as an answer: nothing shorter could be sent in its place.
inline constexpr size_t kAnswerBytesMax = 512;
// Answers (short replies, and refusals of the peer's messages) are as many as the messages that the peer sent and has
// no answer to: some 200,000.
inline constexpr size_t kSessionAnswerBytesMax = size_t{64} << 20;
// Exits, Downs, links, monitors and the like, which must get through when messages are already refused.
inline constexpr size_t kSessionSignalBytesMax = size_t{8} << 20;
// Credit is told once for many messages.
inline constexpr size_t kSessionCreditBytesMax = size_t{8} << 20;
// Senders of one node that wait for room of another (Channel::SendWhenRoom), those that gave up and are not answered
// included. A want, its withdrawal and its answer are some 100 bytes each, so all of them fit into the bytes of credit.
inline constexpr size_t kWantsPerSessionMax = size_t{1} << 15;
// Names: the parts that the peer has not taken (name_limits.h), 8 of 160 KiB at most, and acknowledgements of its own.
inline constexpr size_t kSessionNameBytesMax = size_t{2} << 20;

// ---- What gRPC keeps. ----

// Of what peers wrote and the node has not read, in all: a quarter of a MiB for each of kPeersMax peers.
inline constexpr size_t kReceivedBytesMax = kPeersMax * (size_t{256} << 10);

// ---- Envelopes in parts ----

// Large envelopes whose parts may be interleaved: their senders share the wire, and more wait their turn.
inline constexpr uint32_t kEnvelopesInPartsMax = 64;
// Bytes of all of them together, which the receiver holds until their last parts are there: two of the largest.
inline constexpr size_t kBytesInPartsMax = 2 * (kMessageBytesMax + kEnvelopeOverheadBytesMax);
// What one sender writes before another that waits has its turn: some 100 small messages, and eight turns a frame.
inline constexpr int64_t kSendQuantumBytes = int64_t{8} << 10;
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

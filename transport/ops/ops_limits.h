// Bounds of the operator's service.
#ifndef UNDERSTUDY_TRANSPORT_OPS_OPS_LIMITS_H_
#define UNDERSTUDY_TRANSPORT_OPS_OPS_LIMITS_H_

#include <cstddef>

#include "absl/time/time.h"

namespace understudy::limits {

// Dead letters, and as many supervision events and crash reports, that are kept for readers that come later: what
// happened in the minutes before an incident was noticed. Texts may be long, so their bytes are bounded too.
inline constexpr size_t kKeptEntriesMax = 1000;
inline constexpr size_t kKeptEntriesBytesMax = size_t{1} << 20;
// Messages of a crash report that are told, so that a thousand reports fit in those bytes, or nearly.
inline constexpr size_t kOpsCrashMessagesMax = 16;
// Connections at once: some operators with some terminals each. Further ones are closed, and the log says so.
inline constexpr size_t kOpsConnectionsMax = 16;
// A connection that does not speak HTTP/2 by then is closed, and one without a call for as long as the second number,
// so that neither takes the place of another.
inline constexpr absl::Duration kOpsHandshakeWithin = absl::Seconds(5);
inline constexpr absl::Duration kOpsIdleMax = absl::Minutes(10);
// How often a client over TCP that follows a stream is asked for a sign of life, and how long it may take: a machine
// that is gone says nothing, and would keep its place.
inline constexpr absl::Duration kOpsKeepaliveEvery = absl::Minutes(1);
// Calls under way on one connection; further ones wait at the client.
inline constexpr int kOpsCallsPerConnectionMax = 8;
// A request has one name at most.
inline constexpr int kOpsRequestBytesMax = 4096;
// Supervisors and children in one reply of GetTree, unless the request says otherwise.
inline constexpr size_t kTreeEntriesUsual = 1000;
// After this time the answer to a restart is what is known then. Other callers do not wait meanwhile.
inline constexpr absl::Duration kOpsOutcomeWithin = absl::Milliseconds(500);
// How long the service goes on to poll gRPC after its last connection has ended, so that gRPC can clean up.
inline constexpr absl::Duration kOpsLingers = absl::Seconds(1);
// How often the service looks for new connections and for new entries of the streams, while a client is connected.
inline constexpr absl::Duration kOpsLooksEvery = absl::Milliseconds(50);
// Places for actors that one ListActors goes through in slices. The answer may then be an empty page.
inline constexpr size_t kOpsActorsPerSearchMax = 100'000;
// Names in one reply.
inline constexpr size_t kNamesPerReplyMax = 1000;
// Actors in one reply of TopActors, unless the request says otherwise: what a terminal shows.
inline constexpr size_t kTopActorsUsual = 20;
// A reply ends before this size, because a gRPC client takes at most 4 MiB unless it says otherwise. The rest is the
// next page, if the method has pages.
inline constexpr size_t kOpsReplyBytesMax = size_t{3} << 20;
// Bytes of all replies that clients have not taken yet. Beyond that the oldest large ones are given up, because their
// clients do not read: an operator's client takes a reply in far less time than it takes to ask for ten others.
inline constexpr size_t kOpsUnreadBytesMax = size_t{32} << 20;
// A text that a program gave, such as a label or the reason of an exit, before it is escaped: enough for people.
inline constexpr size_t kOpsTextBytesMax = 2000;
// Places for actors that a scan for TopActors looks at before other callers are served: a few milliseconds.
inline constexpr size_t kTopSlicePlaces = 20'000;
// The answer of a scan serves all callers until it is this old, or this many times as old as the scan took, whichever
// is sooner. So scans take a twentieth of a core at most, however many callers ask, and a small system's answers are
// fresh.
inline constexpr absl::Duration kTopAgeMax = absl::Seconds(1);
inline constexpr int kTopAgePerCost = 20;
// Names of one actor in a reply, and handlers that await.
inline constexpr size_t kOpsNamesPerActorMax = 100;
// The lines of the log about refused actions of one caller in that time, so that a caller cannot fill the disk with its
// refusals; those beyond are counted. More callers than the last number share one such bound.
inline constexpr int kOpsRefusalLinesMax = 100;
inline constexpr absl::Duration kOpsRefusalLinesPer = absl::Minutes(1);
inline constexpr size_t kOpsRefusedCallersMax = 100;

// The longest suspension of an actor by an operator, who may ask for it again: a forgotten one ends by itself before
// its callers have long given up.
inline constexpr absl::Duration kOpsSuspensionMax = absl::Minutes(10);

// The contents of one message of a trace, as text.
inline constexpr size_t kOpsContentsBytesMax = 1024;

}  // namespace understudy::limits

#endif  // UNDERSTUDY_TRANSPORT_OPS_OPS_LIMITS_H_

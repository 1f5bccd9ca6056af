// The bounds of this folder and of transport's protocol, each with its reason.
//
// At a bound the library refuses with an error; it never blocks a worker and never drops
// anything silently. Two bounds are larger than memory allows and are CHECKed: the plain
// threads that wait at once, and the timers of an executor. Sizes, counts and indices from a
// peer are checked against these bounds before they are used.
#ifndef UNDERSTUDY_ACTORS_LIMITS_H_
#define UNDERSTUDY_ACTORS_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace understudy::limits {

// Mailboxes of one actor: one 64-bit word holds the set of its open mailboxes.
inline constexpr int kMailboxesPerActorMax = 64;
// Bytes of the label of one mailbox of an array, which people read in logs.
inline constexpr size_t kMailboxLabelBytesMax = 64;
// Names of array mailboxes that senders in this process have used and no actor here has declared. They may come from
// data, and are kept for ever, because a message to another node contains the name.
inline constexpr size_t kMailboxNamesMeantMax = 65536;
// The capacity of a mailbox whose declaration gives none: enough for a burst, and small enough that a stuck receiver is
// noticed before memory runs out.
inline constexpr int64_t kMailboxCapacityMessages = 1000;
// The capacity in bytes of a mailbox whose declaration gives none and whose messages differ in size, because 1000
// messages of 64 MiB each would be 64 GB.
inline constexpr size_t kMailboxCapacityBytes = size_t{16} << 20;
// The largest capacity: counts of messages have 32 bits and are compared by their difference, and a mailbox may hold
// twice its capacity.
inline constexpr int64_t kMailboxCapacityMessagesMax = int64_t{1} << 29;
// Different sets of mailboxes in one process. Each is kept for ever and takes at least 3 KiB; the bound is far more
// than a program has actor classes.
inline constexpr size_t kMailboxLayoutsMax = 65536;
// The shortest time between two searches for closed mailboxes with waiting messages, because each search visits all
// actors.
inline constexpr absl::Duration kClosedMailPauseMin = absl::Milliseconds(10);
// Failed starts of actors without a parent whose reasons a system keeps for ActorSystem::AwaitStart: more than the
// trees that a program starts at once. It keeps as many of actors with a parent, apart from those, because a child may
// fail to start again and again.
inline constexpr size_t kFailedStartsKeptMax = 64;
// Actors that live in one system at once unless its options say otherwise: idle ones take 1.6 GB.
inline constexpr int64_t kActorsDefaultMax = int64_t{1} << 22;
// Actors that live in one system at once, whatever its options say; their cells alone take 3 GiB. A Pid has 24 bits for
// the cell. 65,536 cells are left for the actors that wait in place of plain threads (ActorSystem::Ask), and for actors
// beyond the bound, which threads that spawn at the same time may begin.
inline constexpr size_t kActorsPerSystemMax = (size_t{1} << 24) - 65536;
// The time from a Kill until an actor whose handler has not returned is fenced, and the time between further attempts
// while the handler is in the kernel, where it cannot be fenced.
inline constexpr absl::Duration kFenceAfterKill = absl::Milliseconds(100);
inline constexpr absl::Duration kFenceRetry = absl::Milliseconds(5);
// Messages that an actor accepts before its constructor has declared its mailboxes; more are refused.
inline constexpr int64_t kStartingMessagesMax = 10000;
// Behaviors below the current one. A stack that grows with each message is a mistake, which this bound reports.
inline constexpr size_t kBehaviorsStackedMax = 100;
// Changes of behavior that hooks make one after another; more than these are taken for an endless loop.
inline constexpr int kBehaviorChangesInARowMax = 100;
// Messages handled in one turn before other actors get the worker.
inline constexpr int kMessagesPerTurnMax = 64;
// When a handler has run for this long, its worker's queue and slot are taken over, so that other actors do not wait
// for it. The time is short for people and long for a handler.
inline constexpr absl::Duration kTakeOverAfter = absl::Milliseconds(5);
// kActorsPerPageMax: actors in one page of ListActors (inspection.h), some 500 bytes each. kActorsPerLookMax: the cells
// whose counters one query looks at. kActorsReadPerLookMax: the actors that it reads, which takes longer. Either bound
// is some milliseconds; the query then returns the actors that it has found.
inline constexpr size_t kActorsPerPageMax = 1000;
inline constexpr uint64_t kActorsPerLookMax = 100'000;
inline constexpr size_t kActorsReadPerLookMax = 2000;
// Messages that have arrived and are not sorted, of which a look at an actor reads when they came: some tens of
// microseconds, in which the actor cannot begin a turn.
inline constexpr int kArrivedLookMax = 2000;
// Links, and as many monitors of each direction, in what InspectActor tells: more than a person reads. The actor cannot
// begin a turn while they are copied.
inline constexpr size_t kTiesToldMax = 100;
// When a handler has run for this long, the log names it, and again each time it has run twice as long.
inline constexpr absl::Duration kNameHandlerAfter = absl::Seconds(1);
// Workers that a pool adds in place of stuck ones: at most the first number plus the second for each worker that the
// pool is configured with (ThreadPoolOptions::threads). A waiting thread is cheap, but blocking actors must not make a
// pool grow without end.
inline constexpr int kSurplusThreadsMax = 64;
inline constexpr int kSurplusThreadsPerWorkerMax = 4;
// Own threads of actors (SpawnThread::kOwn) in one executor.
inline constexpr int kOwnThreadsMax = 1024;
// Timers of one executor: 2^26, far more than fit in memory with their actors.
inline constexpr uint32_t kTimersPerExecutorMax = uint32_t{1} << 26;
// The links that an actor has, whichever side made them, and the monitors that it has on others. Room for the signals
// that they may cause is reserved when they are made.
inline constexpr size_t kLinksPerActorMax = 100000;
inline constexpr size_t kMonitorsPerActorMax = 100000;
// Names that an actor watches: as many as the actors that it monitors. Of each, two changes may wait.
inline constexpr size_t kNamesWatchedPerActorMax = 100000;
// The exits sent with Exit, rather than along a link, that wait at a trapping actor, and the requests to stop that wait
// at any actor. Further ones are merged, because no room is reserved for them and no program needs so many.
inline constexpr size_t kExitsWaitingPerActorMax = 1000;
inline constexpr size_t kTimersPerActorMax = 10000;
inline constexpr size_t kAsksPerActorMax = 100000;
// The items, and their bytes, by which the writer of a stream may be ahead of its reader (StreamLedger): enough that
// the reader need not wait for each item, and little beside the capacity of a mailbox.
inline constexpr size_t kStreamItemsMax = 32;
inline constexpr size_t kStreamBytesMax = size_t{256} << 10;
// Reasons and bytes of a chain of causes, which people read. A longer chain loses its oldest causes, and says so.
inline constexpr int kExitCausesMax = 16;
inline constexpr size_t kExitReasonBytesMax = size_t{64} << 10;
// Payloads of one status in an exit reason or between nodes, more than any library uses: setting each searches those
// before it. Further payloads are left out, those of this library last.
inline constexpr int kStatusPayloadsMax = 16;
// The messages in a crash report, which people read: the most that a system can be told to keep, and the most if it was
// told to keep none. The third number bounds the bytes of one message's contents in a report.
inline constexpr int kLastMessagesMax = 100;
inline constexpr size_t kBlackBoxMessagesMax = 16;
inline constexpr size_t kReportedContentsBytesMax = 1024;
// Bytes of an actor's name, which is an address that people write.
inline constexpr size_t kNameBytesMax = 255;
// Names without an owner that a process remembers for the texts of errors: with names of full length 0.3 MiB.
inline constexpr size_t kUnownedNamesMax = 1024;
// Bytes of a node's name, which is a DNS label (RFC 1035).
inline constexpr size_t kNodeNameBytesMax = 63;
// Actor systems of this process in the process-wide table of nodes, whose indices have 16 bits in a Pid. A quarter of
// the indices: few systems exist at a time, but tests start thousands one after another, and their pids have no
// generation.
inline constexpr uint16_t kSystemPlacesMax = 16384;
// The other indices, which are for incarnations of other nodes.
inline constexpr uint16_t kPeerPlacesMax = 65535 - kSystemPlacesMax;
// Incarnations of other nodes that may have the same index one after another. 8 bits of a Pid tell them apart, because
// pids of dead incarnations may still be in use. A supervisor that restarts a process child once a minute uses up all
// indices and generations in 23 years.
inline constexpr uint32_t kGenerationsPerPlace = 256;
// Bytes of a frame on the wire: small, so that a heartbeat does not wait long behind one.
inline constexpr size_t kFrameBytesMax = size_t{64} << 10;
// Streams that a listener has accepted at a time: far more than a cluster has nodes. This bounds what an unknown peer
// can make the node keep.
inline constexpr int kStreamsPerListenerMax = 4096;
// Bytes of one slot of a frame. The rest of the frame holds its own fields and the definition of one mailbox.
inline constexpr size_t kSlotBytesMax = kFrameBytesMax - (size_t{4} << 10);
// Slots of one frame, because even an empty slot costs its reader memory.
inline constexpr int kSlotsPerFrameMax = 4096;
// Bytes of a mailbox's wire name, which has the full name of a service and of a method.
inline constexpr size_t kMailboxNameBytesMax = 1024;
// Mailboxes that one stream may define: enough for every mailbox of every actor class of a program, and too few to let
// a peer exhaust memory.
inline constexpr size_t kMailboxesPerStreamMax = 16384;
// Bytes that an envelope adds to its message.
inline constexpr size_t kEnvelopeOverheadBytesMax = size_t{4} << 10;
// Links, and likewise monitors, that the actors of one peer may have to actors of this node.
inline constexpr size_t kTiesPerSessionMax = 1000000;
// Nodes of which one node keeps sessions or addresses.
inline constexpr size_t kPeersMax = 1024;
// Incarnations that refs in messages may add to the process-wide table of nodes although no session with them has
// begun, so that a hostile peer cannot fill the table.
inline constexpr size_t kNodesLearnedFromRefsMax = 4096;
// Bytes of a message on the wire, after it was put together from fragments.
inline constexpr size_t kMessageBytesMax = size_t{64} << 20;
// Actors that a node runs for supervisors of other nodes: as many children as a supervisor may reasonably have, and too
// few to let a peer fill the node.
inline constexpr size_t kHostedChildrenMax = 10000;
// Names that one node owns in the embedded name table.
inline constexpr size_t kNamesPerNodeMax = 1000000;
// The time that a process child has to stop in order when its parent is gone: two seconds after the parent's end the
// child and its own process children have ended too.
inline constexpr absl::Duration kParentGoneDrain = absl::Milliseconds(700);
// The crashes that a process child tells its parent in a second, so that actors which crash in a circle do not fill the
// session. The child's log has the others.
inline constexpr int kCrashesToldPerSecond = 100;
// The time from the end of a process child's stream until the end of the process is reported, which comes by another
// way. A process that lives longer is killed.
inline constexpr absl::Duration kProcessEndsWithin = absl::Seconds(1);
// The time from a process child's start to the parent's answer to its node, because a loaded machine may take long to
// start a process.
inline constexpr absl::Duration kParentAnswersWithin = absl::Seconds(60);
// The exit reason of a process child quotes what the child wrote to its standard error within this time before its end,
// up to these numbers of lines and bytes. The time is what a crash report takes on a loaded machine.
inline constexpr absl::Duration kStderrTailWithin = absl::Seconds(2);
inline constexpr size_t kStderrTailLinesMax = 10;
inline constexpr size_t kStderrTailBytesMax = 1000;
// The longest silence between a parent and its process child, unless ProcessChild::silent_within says otherwise: short
// enough to notice a child that is stopped or stuck, and long enough not to kill one on a loaded machine.
inline constexpr absl::Duration kProcessChildSilence = absl::Seconds(20);
// The range of ProcessChild::silent_within: from four times the shortest heartbeat interval of a session to the longest
// silence_timeout of a session (SessionTimes).
inline constexpr absl::Duration kProcessChildSilenceMin = absl::Milliseconds(40);
inline constexpr absl::Duration kProcessChildSilenceMax = absl::Minutes(10);
// Bytes of the file that says why a node ended. Kubernetes reads as many of a termination log.
inline constexpr size_t kEndReportBytesMax = 4096;
// Log lines about dead letters in a second, so that a flood of dead letters does not flood the log.
inline constexpr int kDeadLetterLinesPerSecond = 10;
// Log lines that one place in the program may write in a second, so that a failure which repeats does not flood the
// log.
inline constexpr int kLogLinesPerSiteMax = 100;
// Places for which these lines are counted one by one; further ones are counted together. Programs have some dozens.
inline constexpr size_t kLogSitesMax = 1000;
// Pairs of an actor class and a mailbox for which the times of handlers are kept apart; further pairs share one entry.
// Each takes some 150 bytes, on up to eight workers.
inline constexpr size_t kHandlerKindsMax = 300;
// Messages one after another that carry one trace (trace.h). Services do not call each other so deep, and a trace that
// goes on without end stops.
inline constexpr uint8_t kTraceHopsMax = 64;
// The longest timeout of a call; longer ones are shortened to this.
inline constexpr absl::Duration kAskTimeoutMax = absl::Hours(24);

// The longest suspension of an actor; longer ones are shortened to this, so that each ends.
inline constexpr absl::Duration kSuspensionMax = absl::Hours(24);

// Traces of actors' messages that may run in one system at the same time. Each has a person who reads it.
inline constexpr size_t kMessageTracesMax = 16;
// The bounds of one trace: no more messages than a person reads, and a time that is short enough that a forgotten trace
// does not slow its actor for long.
inline constexpr int64_t kTracedMessagesMax = 10'000;
inline constexpr absl::Duration kTraceTimeMax = absl::Minutes(10);
// The notes of one trace that wait for its reader, in number and in bytes.
inline constexpr size_t kTracedMessagesKeptMax = 1000;
inline constexpr size_t kTracedBytesKeptMax = size_t{1} << 20;
// A larger message is noted without its contents, because its actor would serialize it.
inline constexpr size_t kTracedContentsBytesMax = size_t{64} << 10;

}  // namespace understudy::limits

#endif  // UNDERSTUDY_ACTORS_LIMITS_H_

// Every bound of the library, in one place, each with its reason.
//
// At a bound the library refuses and says so; it never blocks a worker and
// never drops in silence. Two are beyond what memory holds and are CHECKed: waits of plain threads at once, timers of
// an executor. Sizes, counts and indices from a peer are checked against these before use.
#ifndef UNDERSTUDY_ACTORS_LIMITS_H_
#define UNDERSTUDY_ACTORS_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace understudy::limits {

// One 64-bit word holds the set of open mailboxes of an actor.
inline constexpr int kMailboxesPerActorMax = 64;
// The label of one mailbox of an array is read in logs.
inline constexpr size_t kMailboxLabelBytesMax = 64;
// Names of mailboxes of arrays that senders have asked for and nobody here has declared: they may come from data, and
// are kept for ever because a message to another node says the name.
inline constexpr size_t kMailboxNamesMeantMax = 65536;
// A mailbox's bound when its declaration gives none: enough for a burst, and
// small enough that a stuck receiver is noticed before memory is.
inline constexpr int64_t kMailboxCapacityMessages = 1000;
// The same for the bytes of messages that have different sizes: 1000 of 64 MiB each would be 64 GB.
inline constexpr size_t kMailboxCapacityBytes = size_t{16} << 20;
// Counts of messages are 32 bits wide, and compared by their difference; a mailbox may hold twice its capacity.
inline constexpr int64_t kMailboxCapacityMessagesMax = int64_t{1} << 29;
// Different sets of mailboxes, which are kept for ever, each in 3 KiB and more:
// far more than a program has actor classes.
inline constexpr size_t kMailboxLayoutsMax = 65536;
// Between two looks for mailboxes that are closed with mail: each looks at all
// actors.
inline constexpr absl::Duration kClosedMailPauseMin = absl::Milliseconds(10);
// Reasons kept of starts that failed, for ActorSystem::AwaitStart: more than the trees that a program starts at once.
inline constexpr size_t kFailedStartsKeptMax = 64;
// Actors that live in one system at once unless its options say otherwise: idle ones take 1.6 GB.
inline constexpr int64_t kActorsDefaultMax = int64_t{1} << 22;
// Actors that live in one system at once, whatever its options say; their cells alone take 3 GiB. A Pid has 24 bits for
// the cell: 65,536 are left for the actors that wait in place of plain threads (ActorSystem::Ask), and for what threads
// that spawn at the same time begin beyond the bound.
inline constexpr size_t kActorsPerSystemMax = (size_t{1} << 24) - 65536;
// From a Kill to the fence around a handler that has not returned, and from
// there between attempts while it is in the kernel.
inline constexpr absl::Duration kFenceAfterKill = absl::Milliseconds(100);
inline constexpr absl::Duration kFenceRetry = absl::Milliseconds(5);
// Messages accepted before the constructor has run and said which mailboxes
// there are; more are refused.
inline constexpr int64_t kStartingMessagesMax = 10000;
// Behaviours below the present one: a stack that grows with each message is a
// mistake, and is told so.
inline constexpr size_t kBehaviorsStackedMax = 100;
// Changes that enter hooks make one after another; more are a circle.
inline constexpr int kBehaviorChangesInARowMax = 100;
// Messages handled in one turn before other actors get the worker.
inline constexpr int kMessagesPerTurnMax = 64;
// A handler that runs so long holds up nobody any more: its worker's queue and
// slot are taken over. Short for people, long for a handler.
inline constexpr absl::Duration kTakeOverAfter = absl::Milliseconds(5);
// From here on the log names it, and again each time it has run twice as long.
inline constexpr absl::Duration kNameHandlerAfter = absl::Seconds(1);
// Threads in place of stuck ones, beside four for each CPU: a thread is cheap
// while it waits, and no pool grows without end because actors block.
inline constexpr int kSurplusThreadsMax = 64;
inline constexpr int kSurplusThreadsPerCpuMax = 4;
// Threads of actors' own, in one pool.
inline constexpr int kOwnThreadsMax = 1024;
// Timers of one executor: 2^26, far more than fit in memory with their actors.
inline constexpr uint32_t kTimersPerExecutorMax = uint32_t{1} << 26;
// Room for the signals these may cause is kept from the moment they are made: all links that an actor has, whoever made
// them, and the monitors that it holds itself.
inline constexpr size_t kLinksPerActorMax = 100000;
inline constexpr size_t kMonitorsPerActorMax = 100000;
// Exits by Exit, not along a link, that wait at an actor that traps, and requests
// to stop that wait at any; more are merged. No room is kept for them, and nobody means to send so many.
inline constexpr size_t kExitsWaitingPerActorMax = 1000;
inline constexpr size_t kTimersPerActorMax = 10000;
inline constexpr size_t kAsksPerActorMax = 100000;
// A cause chain is read by people: deeper or longer ones lose their oldest
// causes, and say so.
inline constexpr int kExitCausesMax = 16;
inline constexpr size_t kExitReasonBytesMax = size_t{64} << 10;
// A crash report is read by people, and hangs on an exit reason.
inline constexpr int kLastMessagesMax = 100;
inline constexpr size_t kReportedContentsBytesMax = 1024;
// A name of an actor is an address written by people.
inline constexpr size_t kNameBytesMax = 255;
// A node's name is a DNS label (RFC 1035).
inline constexpr size_t kNodeNameBytesMax = 63;
// Indices of the process-wide table of nodes are 16 bits wide in a Pid. A quarter
// is for the actor systems of this process: few live at a time, but tests start
// thousands one after another, and their pids have no generation.
inline constexpr uint16_t kSystemPlacesMax = 16384;
// The other indices are for incarnations of other nodes that may live.
inline constexpr uint16_t kPeerPlacesMax = 65535 - kSystemPlacesMax;
// Incarnations of other nodes that have one index one after another: 8 bits of a
// Pid tell them apart, and pids of a dead one may have been kept. A supervisor
// whose process child is restarted once a minute uses all up in 23 years.
inline constexpr uint32_t kGenerationsPerPlace = 256;
// A frame on the wire. Small, so that heartbeats are never far behind.
inline constexpr size_t kFrameBytesMax = size_t{64} << 10;
// Streams that a listener has accepted: far more than a cluster has nodes, and
// what a stranger can make us hold.
inline constexpr int kStreamsPerListenerMax = 4096;
// One slot of a frame; what is left holds the frame's own fields and the
// definition of one mailbox.
inline constexpr size_t kSlotBytesMax = kFrameBytesMax - (size_t{4} << 10);
// A slot costs its reader memory however small it is.
inline constexpr int kSlotsPerFrameMax = 4096;
// A mailbox's wire name: the full name of a service and of a method.
inline constexpr size_t kMailboxNameBytesMax = 1024;
// Mailboxes that one stream may define: every mailbox of every actor class of
// a program, and no peer's memory hog.
inline constexpr size_t kMailboxesPerStreamMax = 16384;
// What an envelope adds to the message in it.
inline constexpr size_t kEnvelopeOverheadBytesMax = size_t{4} << 10;
// Links, and monitors, that one peer's actors may hold here.
inline constexpr size_t kTiesPerSessionMax = 1000000;
// Nodes that one node keeps sessions or addresses of.
inline constexpr size_t kPeersMax = 1024;
// Incarnations that refs in messages may add to the process-wide table of
// nodes without that a session is begun with them: a hostile peer must not fill
// it.
inline constexpr size_t kNodesLearnedFromRefsMax = 4096;
// A message on the wire, reassembled from fragments.
inline constexpr size_t kMessageBytesMax = size_t{64} << 20;
// Actors that a node runs for supervisors of other nodes: as many as a
// supervisor may well have, and no peer's way to fill the node.
inline constexpr size_t kHostedChildrenMax = 10000;
// Names that one node owns in the embedded name table.
inline constexpr size_t kNamesPerNodeMax = 1000000;
// A process child whose parent is gone has so long to stop in order: two seconds
// after the parent's end nothing of it is left, children's children included.
inline constexpr absl::Duration kParentGoneDrain = absl::Milliseconds(700);
// From the end of a process child's stream to that of the process, which comes
// by another way; one that lives on is killed.
inline constexpr absl::Duration kProcessEndsWithin = absl::Seconds(1);
// From a process child's start to the parent's answer to its node; a loaded
// machine may take long to start a process.
inline constexpr absl::Duration kParentAnswersWithin = absl::Seconds(60);
// What a process child wrote to its standard error in so long before its end is
// quoted in its exit reason, up to these bounds: the time that a report of a crash
// takes on a loaded machine.
inline constexpr absl::Duration kStderrTailWithin = absl::Seconds(2);
inline constexpr size_t kStderrTailLinesMax = 10;
inline constexpr size_t kStderrTailBytesMax = 1000;
// Silence between a parent and its process child, unless ProcessChild::silent_within
// says otherwise: a child that is stopped or stuck is noticed, and one on a loaded
// machine is not killed.
inline constexpr absl::Duration kProcessChildSilence = absl::Seconds(20);
// The range of ProcessChild::silent_within: from four heartbeats that are as close as a session takes them to the
// longest silence_timeout of a session (SessionTimes).
inline constexpr absl::Duration kProcessChildSilenceMin = absl::Milliseconds(40);
inline constexpr absl::Duration kProcessChildSilenceMax = absl::Minutes(10);
// Why a node ended, in a file; Kubernetes reads so much of a termination log.
inline constexpr size_t kEndReportBytesMax = 4096;
// A flood of dead letters must not be a flood of lines.
inline constexpr int kDeadLetterLinesPerSecond = 10;
// How long a call may run when its caller gave nothing shorter.
inline constexpr absl::Duration kAskTimeoutMax = absl::Hours(24);

}  // namespace understudy::limits

#endif  // UNDERSTUDY_ACTORS_LIMITS_H_

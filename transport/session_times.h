// SessionTimes: how often a node shows that it is alive, how long it tolerates the
// silence of a peer, and the other time limits of a session.
//
//   NodeOptions options;
//   options.times = SessionTimes::Wan();
//   options.times.grace_period = absl::Minutes(5);
//   Node::Start(system, options);             // refuses times that fail Validate
//
// Guarantees. A peer that falls silent is Down at the latest after
// silence_timeout and grace_period together; with the defaults after 9 s. Both
// ends of a session use the same two: each tells its own in the handshake, and
// the longer silence_timeout and the longer grace_period hold at both (Agree).
// If the stream does not prove the identities of its ends (loopback TCP without TLS),
// the grace_period of the session is at most a minute, or that of the accepting node
// if it is longer; both ends use it (AgreeUnproved).
// Each end keeps its own heartbeat_interval; because it is at most a third of
// its own silence_timeout, it is at most a third of the agreed one.
//
// A value; any thread.
#ifndef UNDERSTUDY_TRANSPORT_SESSION_TIMES_H_
#define UNDERSTUDY_TRANSPORT_SESSION_TIMES_H_

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace understudy {

namespace proto {
class Times;  // envelope.proto
}

struct SessionTimes {
  // A heartbeat is written when no other frame was written for about this long: four
  // fifths to six fifths of it by chance, so that nodes do not beat in step, and up to
  // a tenth more, so that a node writes to several of its peers in one wake-up.
  absl::Duration heartbeat_interval = absl::Seconds(1);
  // A session becomes suspect when the peer was silent for this long.
  absl::Duration silence_timeout = absl::Seconds(4);
  // A session that has been suspect for this long ends. Zero: it ends at once.
  absl::Duration grace_period = absl::Seconds(5);
  // The limit from the opening of a stream to the peer's Welcome, and from a Welcome to
  // the first frame of the node that dialled.
  absl::Duration handshake_timeout = absl::Seconds(2);
  // How long the peer of an up session has to show that it is alive when another node
  // claims its name, or when this node itself was not running for a while.
  absl::Duration probe_timeout = absl::Seconds(1);
  // The longest that an acknowledgement waits for another frame to travel with. It is
  // sent at once when limits::kUnacknowledgedBytesMax bytes are to be acknowledged.
  absl::Duration acknowledge_delay = absl::Milliseconds(50);
  // The wait between dials: doubled from min to max, then reduced by up to a half at
  // random.
  absl::Duration backoff_min = absl::Milliseconds(20);
  absl::Duration backoff_max = absl::Seconds(2);
  // How long a leaving node waits for its last envelopes to be acknowledged.
  absl::Duration leave_timeout = absl::Seconds(2);
  // How long a closing stream is kept open so that the peer can read its last frame.
  absl::Duration linger = absl::Seconds(1);

  // For nodes of one machine, over Unix sockets or loopback: Down after 6 s.
  static SessionTimes SameMachine();
  // For nodes of one data centre: the defaults, Down after 9 s.
  static SessionTimes Lan();
  // For nodes far from each other, whose routes may fail for a while: Down after 75 s.
  static SessionTimes Wan();

  // OK, or InvalidArgument with every field that is out of its range, its
  // value and the range.
  absl::Status Validate() const;
};

// The times that one end tells the other in the handshake.
proto::Times ToProto(const SessionTimes& times);
// InvalidArgument if one of the peer's times is outside the range that Validate allows.
absl::Status CheckTimes(const proto::Times& theirs);
// Returns `ours` with the silence_timeout and grace_period that hold in a session with
// a peer that told `theirs`. Requires: CheckTimes(theirs).ok().
SessionTimes Agree(SessionTimes ours, const proto::Times& theirs);
// The same for a session whose stream does not prove the identities of its ends. The grace_period is at most that of
// Wan, or that of the accepting node if that is longer, because the session takes one of its few places for that long.
enum class AcceptingEnd { kOurs, kTheirs };
SessionTimes AgreeUnproved(const SessionTimes& ours, const proto::Times& theirs, AcceptingEnd accepting);

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SESSION_TIMES_H_

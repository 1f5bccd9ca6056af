// SessionTimes: how often a node says that it is alive, and how long it bears
// that a peer does not.
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
// Each end keeps its own heartbeat_interval; because it is at most a third of
// its own silence_timeout, it is at most a third of the agreed one.
//
// A value; any thread.
#ifndef UNDERSTUDY_TRANSPORT_SESSION_TIMES_H_
#define UNDERSTUDY_TRANSPORT_SESSION_TIMES_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "understudy/proto/envelope.pb.h"

namespace understudy {

struct SessionTimes {
  // A heartbeat is written when nothing else was for about this long (four fifths
  // of it to six fifths, so that nodes do not beat in step, and up to a tenth more,
  // so that a node writes to several of its peers in one wake-up).
  absl::Duration heartbeat_interval = absl::Seconds(1);
  // Only silence for so long makes a session suspect.
  absl::Duration silence_timeout = absl::Seconds(4);
  // A suspect session ends after so long. Zero: at once.
  absl::Duration grace_period = absl::Seconds(5);
  // From opening a stream to the peer's Welcome, and from a Welcome to the
  // dialling node's first frame.
  absl::Duration handshake_timeout = absl::Seconds(2);
  // How long the node of an up session has to answer when another claims its
  // name, and when this node itself did not run for a while.
  absl::Duration probe_timeout = absl::Seconds(1);
  // An acknowledgement waits so long for a frame to travel with, and less when there
  // is much to acknowledge (limits::kUnacknowledgedBytesMax).
  absl::Duration acknowledge_delay = absl::Milliseconds(50);
  // Between dials: doubled from min to max, less up to a half by chance.
  absl::Duration backoff_min = absl::Milliseconds(20);
  absl::Duration backoff_max = absl::Seconds(2);
  // How long a leaving node waits for its last envelopes to be acknowledged.
  absl::Duration leave_timeout = absl::Seconds(2);
  // How long a stream stays for its last frame to be read.
  absl::Duration linger = absl::Seconds(1);

  // Nodes of one machine, over Unix sockets or loopback: 6 s to a Down.
  static SessionTimes SameMachine();
  // Nodes of one data centre: the defaults, 9 s to a Down.
  static SessionTimes Lan();
  // Nodes far from each other, whose routes may be away for a while: 75 s.
  static SessionTimes Wan();

  // OK, or InvalidArgument with every field that is out of its range, its
  // value and the range.
  absl::Status Validate() const;
};

// What one end tells the other in the handshake.
proto::Times ToProto(const SessionTimes& times);
// InvalidArgument when the peer's times are not ones that Validate would take.
absl::Status CheckTimes(const proto::Times& theirs);
// Our times as they hold in a session with a peer that told `theirs`. Requires
// CheckTimes(theirs).ok().
SessionTimes Agree(SessionTimes ours, const proto::Times& theirs);

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SESSION_TIMES_H_

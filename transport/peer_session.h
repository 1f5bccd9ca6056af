// PeerSession: what one node knows of another: the streams to it, the
// handshake, and the session that outlives them.
//
// A plain state machine: no threads, clock, socket or logging inside. Its owner
// tells it what happened and when, and carries out, in order, the actions that
// it then takes:
//
//   session.OnStreamFrame(stream, bytes, now);
//   for (SessionAction& action : session.TakeActions()) ...
//   wake me at session.NextDeadline() and call session.Tick(now);
//
// Guarantees. While a session lives, each envelope appended at one end arrives
// at the other once, in order; nothing is lost, doubled or reordered, however
// often streams break. A session is up while a stream carries it, else suspect:
// it goes on accepting, up to its bounds. It ends once, for good, and each end
// says so once: SessionEnded. The same two incarnations may then begin another,
// with a higher epoch.
//
// A session ends when: suspect for longer than the grace period; the reserve
// for signals is spent; the peer sends a bad frame; either node leaves; the
// peer's node has a new incarnation; the peer lost it (it says so).
//
// Of two streams that the nodes open to each other at once, the one opened by
// the node with the smaller name survives. A stream from the incarnation that
// is already connected replaces the old one. A second live node of the same
// name is refused: the old one is probed, and if a frame comes from it within
// `probe_timeout` the newcomer is refused; else the old session ends.
//
// Failure: what the peer does wrong ends the session, never the program.
#ifndef UNDERSTUDY_TRANSPORT_PEER_SESSION_H_
#define UNDERSTUDY_TRANSPORT_PEER_SESSION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/frame_codec.h"
#include "understudy/transport/sequence.h"

namespace understudy {

struct SessionTimes {
  // A heartbeat is written when nothing else was for about this long (give or
  // take a fifth, so that nodes do not beat in step).
  absl::Duration heartbeat_interval = absl::Seconds(1);
  // Only silence for so long makes a session suspect.
  absl::Duration silence_timeout = absl::Seconds(5);
  // A suspect session ends after so long. Zero: at once.
  absl::Duration grace_period = absl::Seconds(15);
  // From opening a stream to the peer's Welcome.
  absl::Duration handshake_timeout = absl::Seconds(2);
  // How long the node of an up session has to answer when another claims its name.
  absl::Duration probe_timeout = absl::Seconds(1);
  // An acknowledgement waits so long for a frame to travel with.
  absl::Duration acknowledge_delay = absl::Milliseconds(5);
  // Between dials: doubled from min to max, less up to a half by chance.
  absl::Duration backoff_min = absl::Milliseconds(20);
  absl::Duration backoff_max = absl::Seconds(2);
  // How long a leaving node waits for its last envelopes to be acknowledged.
  absl::Duration leave_timeout = absl::Seconds(2);
  // How long a stream stays for its last frame to be read.
  absl::Duration linger = absl::Seconds(1);
};

struct SessionConfig {
  std::string node;  // ours
  NodeIncarnation incarnation;
  std::string peer;
  // Where others can dial us; told to the peer. May be empty.
  std::string advertise;
  uint16_t local_index = 0;  // of our own pids
  // Gives the index of the peer's pids of that incarnation; an error when there
  // is none for it, and no session begins.
  std::function<absl::StatusOr<uint16_t>(NodeIncarnation)> peer_index;
  SessionTimes times;
  Sequence::Bounds bounds;
  uint64_t seed = 0;
};

enum class SessionEnd : uint8_t {
  kGraceOver,       // suspect for too long
  kReserveSpent,    // no room even for signals
  kBadFrame,        // the peer broke the protocol
  kPeerEnded,       // the peer ended it, and says why
  kPeerLeft,        // the peer's node stopped in order
  kLeft,            // ours did
  kNewIncarnation,  // the peer's node was started anew
  kPeerBeganAnew,   // the peer had already ended it
};

// "grace period over", …
absl::string_view SessionEndName(SessionEnd end);

// ---- What the owner must do ----

// Open a stream to the peer's address, and call it by this number. The stream
// is the owner's until it reports OnStreamClosed.
struct DialStream {
  uint64_t stream;
};
struct WriteFrame {
  uint64_t stream;
  std::string bytes;
};
// OnStreamClosed need not follow.
struct CloseStream {
  uint64_t stream;
};
struct SessionBegun {
  NodePair nodes;
  uint64_t epoch;
  std::string advertise;  // the peer's, may be empty
};
struct SessionSuspect {
  std::string why;
};
struct SessionResumed {};
struct EnvelopeArrived {
  InboundEnvelope envelope;
  // Of a call: by our clock.
  MonotonicTime deadline;
  // A message's mailbox has the hash, but not the name, of one known here.
  bool wrong_mailbox = false;
};
struct SessionEnded {
  SessionEnd why;
  std::string detail;
  NodePair nodes;
  uint64_t epoch;
};
// The peer refused our stream. The session, if any, is not affected.
struct DialRefused {
  proto::Refuse::Reason reason;
  std::string detail;
};
// Both wanted a session, and this node could not begin it.
struct SessionFailed {
  std::string why;
};

using SessionAction = std::variant<DialStream, WriteFrame, CloseStream, SessionBegun, SessionSuspect, SessionResumed,
                                   EnvelopeArrived, SessionEnded, DialRefused, SessionFailed>;

class PeerSession {
 public:
  explicit PeerSession(SessionConfig config);

  // ---- What happened ----

  // Whether there is an address to dial. A new one resets the backoff.
  void SetDialable(bool dialable, MonotonicTime now);
  // Another node opened a stream, and its Hello claims to be our peer. Gives
  // the stream's number.
  uint64_t OnAccepted(const proto::Hello& hello, MonotonicTime now);
  void OnStreamFrame(uint64_t stream, absl::string_view bytes, MonotonicTime now);
  void OnStreamWritten(uint64_t stream, MonotonicTime now);
  void OnStreamClosed(uint64_t stream, const absl::Status& why, MonotonicTime now);
  // Something is due at NextDeadline.
  void Tick(MonotonicTime now);

  // ---- What the owner wants ----

  // NoConnection without a session, Stopping when it leaves, Full when it has
  // no room. A signal without room ends the session.
  absl::Status Append(OutboundEnvelope envelope, MonotonicTime now);
  // Ends the session when all that was appended is acknowledged, at the latest
  // after leave_timeout; dials and accepts no more.
  void Leave(absl::string_view why, MonotonicTime now);
  // Ends the session now: the peer broke a rule that the owner checks.
  void EndForBadFrame(absl::string_view why, MonotonicTime now);

  std::vector<SessionAction> TakeActions() { return std::exchange(actions_, {}); }
  // InfiniteFuture when nothing is due.
  MonotonicTime NextDeadline() const;

  // ---- Observers ----

  bool is_live() const { return live_.has_value(); }
  bool is_up() const { return carrier_.has_value(); }
  // Left, and nothing more to do.
  bool is_finished() const { return leaving_ && !is_live() && lingering_.empty(); }
  // Requires is_live().
  const NodePair& nodes() const { return live_->nodes; }
  uint64_t epoch() const { return live_.has_value() ? live_->epoch : 0; }
  // Of all sessions with this peer.
  SessionLedger ledger() const;
  int64_t old_frames_refused() const { return old_frames_refused_; }

 private:
  struct Live {
    NodePair nodes;
    uint64_t epoch;
    Sequence sequence;
    MonotonicTime grace_over = MonotonicTime::InfiniteFuture();
  };
  // The stream that carries the session.
  struct Carrier {
    uint64_t stream;
    bool writing = false;
    MonotonicTime silent_at;     // when silence will have lasted too long
    MonotonicTime heartbeat_at;  // when we will have been silent too long
    MonotonicTime acknowledge_at = MonotonicTime::InfiniteFuture();
    bool heartbeat_due = false;
    bool probe_due = false;
    absl::optional<proto::Welcome> welcome;  // to be written first
    std::set<uint32_t> defined_out;
    std::map<uint32_t, std::string> defined_in;
  };
  // A stream of ours that waits for its Welcome.
  struct Dial {
    uint64_t stream;
    MonotonicTime deadline;
    bool writing = true;  // the Hello
  };
  // A stream of the peer's whose Hello waits for a decision.
  struct Held {
    uint64_t stream;
    proto::Hello hello;
    MonotonicTime probe_over = MonotonicTime::InfiniteFuture();
  };
  // A stream that only waits for its last frame to be read.
  struct Lingering {
    bool writing;
    std::string last_frame;  // empty when it is written
    MonotonicTime deadline;
  };

  // peer_session.cc
  void HandleFrame(proto::Frame& frame, MonotonicTime now);
  absl::Status HandleSlots(proto::Frame& frame, MonotonicTime now);
  absl::Status HandleEnvelope(const Sequence::Arrived& arrived, MonotonicTime now);
  void HandleControl(const proto::Frame& frame, MonotonicTime now);
  absl::Status Begin(NodeIncarnation incarnation, uint64_t epoch, absl::string_view advertise);
  void End(SessionEnd why, absl::string_view detail, MonotonicTime now);
  void LoseStream(absl::string_view why, MonotonicTime now);
  void Pump(MonotonicTime now);
  bool IsDialWanted() const;
  void TickStreams(MonotonicTime now);
  void Settle(MonotonicTime now);

  // peer_session_handshake.cc
  void StartDialIfDue(MonotonicTime now);
  void FailDial(MonotonicTime now);
  void AbandonDial(MonotonicTime now);
  std::string HelloFrame();
  void OnDialFrame(absl::string_view bytes, MonotonicTime now);
  void OnWelcome(proto::Frame frame, MonotonicTime now);
  void ConsiderHeld(MonotonicTime now);
  void Admit(MonotonicTime now);
  bool GoOnWith(const proto::Hello& hello, MonotonicTime now);
  void RefuseHeld(proto::Refuse::Reason reason, absl::string_view detail, MonotonicTime now);
  void Attach(uint64_t stream, bool writing, MonotonicTime now);
  void Farewell(uint64_t stream, bool writing, std::string last_frame, MonotonicTime now);
  void MeetIncarnation(NodeIncarnation incarnation);
  absl::Duration Jittered(absl::Duration interval);

  const SessionConfig config_;
  Random random_;
  std::vector<SessionAction> actions_;

  absl::optional<Live> live_;
  absl::optional<Carrier> carrier_;  // only while live_
  absl::optional<Dial> dial_;
  absl::optional<Held> held_;
  std::map<uint64_t, Lingering> lingering_;
  uint64_t last_stream_ = 0;

  bool dialable_ = false;
  MonotonicTime dial_at_;
  absl::Duration backoff_;
  uint64_t dials_ = 0;

  // Of the incarnation met last.
  NodeIncarnation met_;
  uint64_t last_epoch_ = 0;
  uint64_t peer_dials_void_ = 0;

  bool leaving_ = false;
  MonotonicTime leave_at_ = MonotonicTime::InfiniteFuture();
  SessionLedger ended_;
  int64_t old_frames_refused_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_PEER_SESSION_H_

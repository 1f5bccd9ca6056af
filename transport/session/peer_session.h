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
// A session ends when: suspect for longer than the grace period; the peer's
// process is proved dead; anything but a message or a reply
// has no room; the peer sends a bad
// frame; either node leaves; the peer proves that it has ended it; a process
// whose identity is proved claims the peer's name and the old one does not
// answer.
//
// Beginning. The dialling node's Hello offers half of a secret, the accepting
// node's Welcome the other half (session_proof.h). The session begins for the
// dialling node with the Welcome, for the accepting node with the first frame
// that follows: until then it keeps an offer, of which it tells nobody and of
// which there are few.
//
// Who may do what to a live session:
// 1. A Hello resumes it only with a proof of the secret, bound to the number of
//    the dial; those numbers only rise, so a recorded Hello is refused. The
//    Welcome proves the same, bound to that dial.
// 2. That the peer has ended it is believed only with a proof of the secret, or
//    from a stream whose identity is proved.
// 3. A Hello of another incarnation, or without a proof, on a stream whose
//    identity is proved: the process that has the session is probed if the
//    session is up; if it does not answer within `probe_timeout`, or if the
//    session is suspect, the session ends and another may begin.
// 4. The same on a stream without proved identity is refused, and disturbs
//    nothing: it waits until the session has ended.
//
// Of two streams that the nodes open to each other at once, the one opened by
// the node with the smaller name survives. A stream that resumes the session
// replaces the one that carried it.
//
// A stall of this process is told apart from a silent peer: when Tick comes a
// heartbeat interval late or more, the peer is probed and has `probe_timeout`
// more, once between two of its frames.
//
// Failure: what the peer does wrong ends the session, never the program.
#ifndef UNDERSTUDY_TRANSPORT_SESSION_PEER_SESSION_H_
#define UNDERSTUDY_TRANSPORT_SESSION_PEER_SESSION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/handshake.h"
#include "understudy/transport/session/reliable_sequence.h"
#include "understudy/transport/session/session_proof.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/session_times.h"

namespace understudy {

struct SessionConfig {
  std::string node;  // ours
  NodeIncarnation incarnation;
  std::string peer;
  // Where others can dial us; told to the peer. May be empty.
  std::string advertise;
  uint16_t local_index = 0;  // of our own pids
  // Gives the place of the peer's pids of that incarnation; an error when there
  // is none for it, and no session begins. Called when a session begins, and the
  // one before it has ended.
  std::function<absl::StatusOr<NodePlace>(NodeIncarnation)> peer_place;
  // A new secret key of kSessionKeyBytes, that nobody can guess (NewSessionKey).
  // Simulations give one from their seed.
  std::function<std::string()> new_key;
  SessionTimes times;
  ReliableSequence::Bounds bounds;
  WireVersions versions;
  uint64_t seed = 0;
};

enum class SessionEnd : uint8_t {
  kGraceOver,       // suspect for too long
  kNoGrace,         // its stream closed, and there is no time to wait for another
  kReserveSpent,    // no room for what must arrive
  kBadFrame,        // the peer broke the protocol
  kPeerEnded,       // the peer ended it, and says why
  kPeerLeft,        // the peer's node stopped in order
  kLeft,            // ours did
  kNewIncarnation,  // the peer's node was started anew
  kPeerBeganAnew,   // the peer had already ended it
  kProcessEnded,    // the peer's process is proved dead
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
// The stream carries the session from now on. After what was to be written before
// this the owner writes `heartbeat` there whenever nothing was written for
// `interval`, and no more once the session is suspect or over, or the stream is to
// be closed.
struct StreamCarries {
  uint64_t stream;
  std::string heartbeat;
  absl::Duration interval;
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
// Messages that came one after another. Their deadlines are by our clock.
struct MessagesArrived {
  std::vector<internal::Message> messages;
};
// Any other envelope, or a message whose mailbox has the hash, but not the name,
// of one known here.
struct EnvelopeArrived {
  InboundEnvelope envelope;
};
struct SessionEnded {
  SessionEnd why;
  std::string detail;
  NodePair nodes;
  uint64_t epoch;
};
// Our stream came to nothing: the peer refused it, or its answer was not
// acceptable. The session, if any, goes on.
struct DialRefused {
  proto::Refuse::Reason reason;
  std::string detail;
};
// We refused a stream that claims to be the peer's.
struct StreamRefused {
  proto::Refuse::Reason reason;
  std::string detail;
};
// Both wanted a session, and this node could not begin it.
struct SessionFailed {
  std::string why;
};

using SessionAction =
    std::variant<DialStream, WriteFrame, StreamCarries, CloseStream, SessionBegun, SessionSuspect, SessionResumed,
                 MessagesArrived, EnvelopeArrived, SessionEnded, DialRefused, StreamRefused, SessionFailed>;

class PeerSession {
 public:
  explicit PeerSession(SessionConfig config);

  // ---- What happened ----

  // Whether there is an address to dial, and what is proved of the process that
  // answers there. A new one resets the backoff.
  void SetDialable(const absl::optional<StreamIdentity>& at_address, MonotonicTime now);
  // Another node opened a stream, and its Hello claims to be our peer. Gives
  // the stream's number.
  uint64_t OnAccepted(const proto::Hello& hello, const StreamIdentity& identity, MonotonicTime now);
  void OnStreamFrame(uint64_t stream, absl::string_view bytes, MonotonicTime now);
  void OnStreamWritten(uint64_t stream, MonotonicTime now);
  void OnStreamClosed(uint64_t stream, const absl::Status& why, MonotonicTime now);
  // The peer's process of that incarnation is proved dead since its stream was lost:
  // its session ends now, unless another stream carries it meanwhile.
  void OnPeerProvedDead(NodeIncarnation incarnation, MonotonicTime now);
  // Streams of the peer's that carry no session, and may yet, are closed.
  void AbandonHandshakes(MonotonicTime now);
  // Something is due at NextDeadline.
  void Tick(MonotonicTime now);

  // ---- What the owner wants ----

  // NoConnection without a session, Stopping when it leaves, Full when it has
  // no room. Anything but a message or a reply ends the session when it has no room.
  // Leaves the memory of `envelope.bytes` to the caller where it can. `now` is
  // asked for the time only when there is something to do at once.
  absl::Status Append(OutboundEnvelope&& envelope, absl::FunctionRef<MonotonicTime()> now);
  // ReliableSequence's, of the live session: without one Keep is NoConnection, and nothing is kept.
  absl::Status Keep(size_t bytes);
  void StopKeeping(size_t bytes) {
    if (live_.has_value()) live_->sequence.StopKeeping(bytes);
  }
  // Ends the session when all that was appended is acknowledged, at the latest
  // after leave_timeout; dials and accepts no more.
  void Leave(absl::string_view why, MonotonicTime now);
  // Ends the session now: the peer broke a rule that the owner checks.
  // The same when the owner has no room for what must arrive (kReserveSpent).
  void EndForWantOfRoom(absl::string_view why, MonotonicTime now);
  void EndForBadFrame(absl::string_view why, MonotonicTime now);

  std::vector<SessionAction> TakeActions() { return std::exchange(actions_, {}); }
  bool has_actions() const { return !actions_.empty(); }
  // InfiniteFuture when nothing is due.
  MonotonicTime NextDeadline() const;

  // ---- Observers ----

  bool is_live() const { return live_.has_value(); }
  // It has offered a session, which the peer may have taken without this node having heard of it.
  bool has_offers() const { return !offers_.empty(); }
  bool is_up() const { return carrier_.has_value(); }
  absl::optional<uint64_t> carrying_stream() const {
    return carrier_.has_value() ? absl::optional<uint64_t>(carrier_->stream) : absl::nullopt;
  }
  // Left, and nothing more to do.
  bool is_finished() const { return leaving_ && !is_live() && lingering_.empty(); }
  // As agreed with the peer. Requires is_live().
  const SessionTimes& times() const { return live_->terms.times; }
  uint32_t wire_version() const { return live_->terms.version; }
  uint64_t features() const { return live_->terms.features; }
  // Requires is_live().
  const NodePair& nodes() const { return live_->nodes; }
  uint64_t epoch() const { return live_.has_value() ? live_->terms.epoch : 0; }
  // Of all sessions with this peer.
  SessionLedger ledger() const;
  // Of the live session: not acknowledged, by us or by the peer.
  size_t bytes_waiting() const { return live_.has_value() ? live_->sequence.bytes_waiting() : 0; }
  size_t bytes_waiting(Room room) const { return live_.has_value() ? live_->sequence.bytes_waiting(room) : 0; }
  int64_t old_frames_refused() const { return old_frames_refused_; }
  // Streams that claimed a session without a proof of its secret.
  int64_t unproved_refused() const { return unproved_refused_; }
  // The state in a line, with times from now to the second; for tests and logs.
  std::string DebugString(MonotonicTime now) const;

 private:
  // What both ends agreed when a session began, or would when an offer is taken.
  struct Terms {
    NodeIncarnation peer;
    uint64_t epoch;
    SessionSecret secret;
    uint32_t version;
    uint64_t features;
    SessionTimes times;
    std::string advertise;  // the peer's
    // The peer's streams up to this dial are void.
    uint64_t peer_dial;
  };
  struct Live {
    Terms terms;
    NodePair nodes;
    ReliableSequence sequence;
    MonotonicTime grace_over = MonotonicTime::InfiniteFuture();
    bool stall_forgiven = false;  // since it became suspect
  };
  // A mailbox that the stream has defined.
  struct Definition {
    std::string name;
    // Whether this process knows another mailbox of that hash; nothing while it knows none.
    absl::optional<bool> is_another;
  };
  // The stream that carries the session.
  struct Carrier {
    uint64_t stream;
    bool writing = false;
    bool beats = false;       // StreamCarries was said
    MonotonicTime silent_at;  // when silence will have lasted too long
    MonotonicTime look_at;    // Tick comes then, so that a stall of this process shows
    MonotonicTime acknowledge_at = MonotonicTime::InfiniteFuture();
    size_t unacknowledged = 0;  // bytes of what came since the last frame was written, with kSlotOverheadBytes each
    bool heartbeat_due = false;
    bool probe_due = false;
    // Since the last frame the peer was given more time because we had stalled.
    bool stall_forgiven = false;
    absl::optional<proto::Welcome> welcome;  // to be written first
    std::set<uint32_t> defined_out;
    std::map<uint32_t, Definition> defined_in;
  };
  // A stream of ours that waits for its Welcome.
  struct Dial {
    uint64_t stream;
    MonotonicTime deadline;
    std::string key;  // our half of the secret of a new session
    uint64_t resume_epoch = 0;
    bool writing = true;  // the Hello
  };
  // What a Hello is found to be.
  enum class Standing {
    kRefused,
    kUnproved,  // a new session, when there is none
    kClaim,     // a new session in place of the live one, the identity being proved
    kBegin,     // a new session, when there is none, the identity being proved
    kEnded,     // a new session; the live one is proved to have ended
    kResume,    // proves the live session or an offer
  };
  struct Judgement {
    Standing standing;
    Refusal refusal = {};
    std::string proof = "";  // of ENDED
  };
  // A stream of the peer's whose Hello waits for a decision.
  struct Held {
    uint64_t stream;
    proto::Hello hello;
    StreamIdentity identity;
    MonotonicTime probe_over = MonotonicTime::InfiniteFuture();
  };
  // A session that we offered in a Welcome. It begins with the next frame of
  // that stream, or when the peer resumes it by another.
  struct Offer {
    Terms terms;
    uint64_t stream;  // 0 when it has closed
    MonotonicTime deadline;
    bool writing = true;  // the Welcome
  };
  // A stream that only waits for its last frame to be read.
  struct Lingering {
    bool writing;
    std::string last_frame;  // empty when it is written
    MonotonicTime deadline;
  };

  // peer_session.cc
  void HandleFrame(const FrameView& frame, MonotonicTime now);
  absl::Status HandleSlots(const FrameView& frame, MonotonicTime now);
  // `messages_max`: of its frame.
  absl::Status HandleEnvelope(const ReliableSequence::Arrived& arrived, size_t messages_max, MonotonicTime now);
  absl::Status HandleMessage(internal::Message message, size_t messages_max);
  void HandleControl(const proto::Frame& frame, MonotonicTime now);
  void End(SessionEnd why, absl::string_view detail, MonotonicTime now);
  void LoseStream(absl::string_view why, MonotonicTime now);
  void Pump(MonotonicTime now);
  void ForgiveStall(MonotonicTime now);
  void TickStreams(MonotonicTime now);
  void Settle(MonotonicTime now);

  // peer_session_dial.cc: our own streams.
  MonotonicTime DialDueAt() const;
  void StartDialIfDue(MonotonicTime now);
  void FailDial(MonotonicTime now);
  void AbandonDial(MonotonicTime now);
  std::string HelloFrame();
  void OnDialFrame(absl::string_view bytes, MonotonicTime now);
  void OnRefuse(const proto::Refuse& refuse, MonotonicTime now);
  void OnWelcome(const proto::Frame& frame, MonotonicTime now);
  bool Resume(const proto::Welcome& welcome, MonotonicTime now);
  bool BeginAsDialled(const proto::Welcome& welcome);

  // peer_session_accept.cc: the peer's streams.
  Judgement Judge(const Held& held, MonotonicTime now) const;
  Judgement JudgeResume(const proto::Hello& hello) const;
  Judgement JudgeBegin(const Held& held, MonotonicTime now) const;
  void ConsiderHeld(MonotonicTime now);
  void Admit(Standing standing, MonotonicTime now);
  void MakeOffer(const Held& held, MonotonicTime now);
  void OnOfferFrame(uint64_t stream, absl::string_view bytes, MonotonicTime now);
  void ResumeBy(const Held& held, MonotonicTime now);
  void RefuseHeld(const Refusal& refusal, MonotonicTime now, absl::string_view proof = "");
  // The offer of that stream, or of that session; null when there is none.
  Offer* OfferOn(uint64_t stream);
  const Terms* FindTerms(NodeIncarnation peer, uint64_t epoch) const;
  void DropOffer(uint64_t epoch);
  void TickOffers(MonotonicTime now);

  // peer_session_terms.cc: what both share.
  absl::Status Begin(Terms terms);
  // The claim of the node that dialled (or accepted) the stream.
  enum class Side { kWeDialled, kWeAccepted };
  SessionClaim Claim(SessionClaim::Kind kind, Side side, const Terms& terms, uint64_t dial, uint64_t received) const;
  uint64_t NextEpoch() const;
  void Attach(uint64_t stream, bool writing, MonotonicTime now);
  void Farewell(uint64_t stream, bool writing, std::string last_frame, MonotonicTime now);
  absl::Duration Jittered(absl::Duration interval);

  const SessionConfig config_;
  Random random_;
  std::vector<SessionAction> actions_;

  absl::optional<Live> live_;
  absl::optional<Carrier> carrier_;  // only while live_
  absl::optional<Dial> dial_;
  absl::optional<Held> held_;
  std::vector<Offer> offers_;   // only while not live_; oldest first
  absl::optional<Terms> last_;  // of the session that ended last
  std::map<uint64_t, Lingering> lingering_;
  uint64_t last_stream_ = 0;

  absl::optional<StreamIdentity> at_address_;
  MonotonicTime dial_at_;
  MonotonicTime dialled_at_;  // last
  absl::Duration backoff_;
  uint64_t dials_ = 0;
  uint64_t last_epoch_ = 0;

  bool leaving_ = false;
  MonotonicTime leave_at_ = MonotonicTime::InfiniteFuture();
  SessionLedger ended_;
  int64_t old_frames_refused_ = 0;
  int64_t unproved_refused_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SESSION_PEER_SESSION_H_

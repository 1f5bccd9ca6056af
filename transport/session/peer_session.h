// PeerSession: one node's end of its session with another node, with the streams
// and handshakes that belong to it. The session outlives its streams.
//
// A state machine: no threads, clock, socket or logging inside. Its owner reports
// what happened and when, then takes the resulting actions and performs them in
// order:
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
// A session ends when it is suspect for longer than the grace period; when the peer's
// process is proved dead; when an envelope other than a message or a reply has no
// room; when the peer sends a bad frame; when either node leaves; when the peer proves
// that it has ended the session; or when a process whose identity is proved claims the
// peer's name and the old process does not answer.
//
// Beginning. The dialling node's Hello offers half of a secret, the accepting
// node's Welcome the other half (session_proof.h). The session begins for the
// dialling node with the Welcome, for the accepting node with the first frame
// that follows. Until then the accepting node keeps an offer, which it does not report
// to its owner. The number of offers is small and bounded.
//
// The rules for changes to a live session:
// 1. A Hello resumes it only with a proof of the secret, bound to the number of
//    the dial; those numbers only rise, so a recorded Hello is refused. The
//    Welcome proves the same, bound to that dial.
// 2. An end of the session by the peer is believed only with a proof of the secret, or
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
// A stall of this process is distinguished from a silent peer: if Tick is called a
// heartbeat interval late or more, the peer is probed and gets `probe_timeout` more to
// answer. It gets this once until its next frame arrives.
//
// Failure: an error of the peer ends the session, never the program.
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
  std::string node;  // this node's name
  NodeIncarnation incarnation;
  std::string peer;
  // The address at which the peer can dial this node; sent to the peer. May be empty.
  std::string advertise;
  uint64_t machine = 0;      // Hello.machine of this process
  uint16_t local_index = 0;  // node index of this node's own pids
  // PeerSession::number() of the first session, which later ones continue. Not 0.
  uint64_t first_number = 1;
  // Returns the place in the table of nodes for pids of that incarnation of the peer.
  // If it returns an error, no session begins. Called when a session begins, after the
  // one before it has ended.
  std::function<absl::StatusOr<NodePlace>(NodeIncarnation)> peer_place;
  // Returns a new key of kSessionKeyBytes that cannot be guessed (NewSessionKey).
  // Simulations derive it from their seed.
  std::function<std::string()> new_key;
  SessionTimes times;
  ReliableSequence::Bounds bounds;
  WireVersions versions;
  uint64_t seed = 0;
};

enum class SessionEnd : uint8_t {
  kGraceOver,       // suspect for too long
  kNoGrace,         // its stream closed, and there is no time to wait for another
  kReserveSpent,    // no room for an envelope that must arrive
  kBadFrame,        // the peer broke the protocol
  kPeerEnded,       // the peer ended it, and says why
  kPeerLeft,        // the peer's node stopped in order
  kLeft,            // this node stopped in order
  kNewIncarnation,  // the peer's node was started anew
  kPeerBeganAnew,   // the peer had already ended it, and begins another
  kProcessEnded,    // the peer's process is proved dead
};

// "grace period over", …
absl::string_view SessionEndName(SessionEnd end);
// "grace_over", …: the value of a label in metrics.
absl::string_view SessionEndLabel(SessionEnd end);

// ---- Actions that the owner must perform ----

// Open a stream to the peer's address. `stream` identifies it in all later calls, until
// the owner reports OnStreamClosed.
struct DialStream {
  uint64_t stream;
};
struct WriteFrame {
  uint64_t stream;
  std::string bytes;
};
// The stream carries the session from now on. After the frames of earlier actions the
// owner writes `heartbeat` to it whenever nothing was written for `interval`. It stops
// when the session is suspect or over, or the stream is to be closed.
struct StreamCarries {
  uint64_t stream;
  std::string heartbeat;
  absl::Duration interval;
};
// Close the stream. The owner need not report OnStreamClosed afterwards.
struct CloseStream {
  uint64_t stream;
};
struct SessionBegun {
  NodePair nodes;
  uint64_t number;  // as number()
  uint64_t epoch;
  uint64_t features;      // that both ends have (handshake.h)
  std::string advertise;  // the peer's, may be empty
  uint64_t machine = 0;   // the peer's, or 0
};
struct SessionSuspect {
  std::string why;
};
struct SessionResumed {};
// Messages that arrived one after another. Their deadlines are times of this node's clock.
struct MessagesArrived {
  std::vector<internal::Message> messages;
};
// An envelope that is not a message; or a message to a mailbox whose name has the same
// hash as a different name known here, so it cannot be delivered.
struct EnvelopeArrived {
  InboundEnvelope envelope;
};
struct SessionEnded {
  SessionEnd why;
  std::string detail;
  NodePair nodes;
  uint64_t epoch;
};
// A stream that this node dialled failed, because the peer refused it or its answer was
// not acceptable. The session, if any, goes on.
struct DialRefused {
  proto::Refuse::Reason reason;
  std::string detail;
};
// This node refused a stream that claims to be the peer's.
struct StreamRefused {
  proto::Refuse::Reason reason;
  std::string detail;
};
// The handshake succeeded, but this node could not begin the session.
struct SessionFailed {
  std::string why;
};

using SessionAction =
    std::variant<DialStream, WriteFrame, StreamCarries, CloseStream, SessionBegun, SessionSuspect, SessionResumed,
                 MessagesArrived, EnvelopeArrived, SessionEnded, DialRefused, StreamRefused, SessionFailed>;

class PeerSession {
 public:
  explicit PeerSession(SessionConfig config);

  // ---- Reports of the owner ----

  // Sets whether there is an address to dial and, if there is one, what is proved of the
  // process that answers there. A new address resets the backoff. A dial to the address before goes on, and its answer
  // proves what that address does.
  void SetDialable(const absl::optional<StreamIdentity>& at_address, MonotonicTime now);
  // Another node opened a stream, and its Hello claims to be the peer. Returns the
  // number that identifies the stream.
  uint64_t OnAccepted(const proto::Hello& hello, const StreamIdentity& identity, MonotonicTime now);
  void OnStreamFrame(uint64_t stream, absl::string_view bytes, MonotonicTime now);
  void OnStreamWritten(uint64_t stream, MonotonicTime now);
  void OnStreamClosed(uint64_t stream, const absl::Status& why, MonotonicTime now);
  // The peer's process of that incarnation was proved dead after its stream was lost.
  // Its session ends now, unless another stream has come to carry it.
  void OnPeerProvedDead(NodeIncarnation incarnation, MonotonicTime now);
  // Closes the peer's streams that might still come to carry a session.
  void AbandonHandshakes(MonotonicTime now);
  // From now on the peer is another process: ends the session and the handshakes with the one before. Later sessions
  // have `times`.
  void BeginAnew(const SessionTimes& times, MonotonicTime now);
  // Does what is due by `now`. To be called at NextDeadline().
  void Tick(MonotonicTime now);

  // ---- Requests of the owner ----

  // Accepts an envelope for the peer. Returns NoConnection without a session, Stopping
  // if the session is leaving, and Full if there is no room; without room for an
  // envelope other than a message or a reply, the session ends. Where it can, leaves
  // the memory of `envelope.bytes` to the caller for reuse. `now` is called only if
  // there is something to do at once. Returns FailedPrecondition for a message to one mailbox too many on a session
  // without grace period, which has one stream and its limits::kMailboxesPerStreamMax.
  absl::Status Append(OutboundEnvelope&& envelope, absl::FunctionRef<MonotonicTime()> now);
  // Like ReliableSequence::Keep, for the live session. Without one Keep returns NoConnection and keeps nothing.
  absl::Status Keep(size_t bytes);
  void StopKeeping(size_t bytes) {
    if (live_.has_value()) live_->sequence.StopKeeping(bytes);
  }
  // Ends the session as soon as all that was appended is acknowledged, at the latest
  // after leave_timeout. Streams are neither dialled nor accepted from now on.
  void Leave(absl::string_view why, MonotonicTime now);
  // Both end the session now: EndForWantOfRoom because the owner has no room for an
  // envelope that must arrive (kReserveSpent), EndForBadFrame because the peer broke a
  // rule that the owner checks (kBadFrame).
  void EndForWantOfRoom(absl::string_view why, MonotonicTime now);
  void EndForBadFrame(absl::string_view why, MonotonicTime now);

  std::vector<SessionAction> TakeActions() { return std::exchange(actions_, {}); }
  bool has_actions() const { return !actions_.empty(); }
  // InfiniteFuture when nothing is due.
  MonotonicTime NextDeadline() const;

  // ---- Observers ----

  bool is_live() const { return live_.has_value(); }
  // Whether a session was offered that the peer may have begun already, although no frame of it has arrived here.
  bool has_offers() const { return !offers_.empty(); }
  bool is_up() const { return carrier_.has_value(); }
  absl::optional<uint64_t> carrying_stream() const {
    return carrier_.has_value() ? absl::optional<uint64_t>(carrier_->stream) : absl::nullopt;
  }
  // Whether Leave was called and nothing is left to do.
  bool is_finished() const { return leaving_ && !is_live() && lingering_.empty(); }
  // The times agreed with the peer. Requires is_live().
  const SessionTimes& times() const { return live_->terms.times; }
  uint32_t wire_version() const { return live_->terms.version; }
  uint64_t features() const { return live_->terms.features; }
  // Requires is_live().
  const NodePair& nodes() const { return live_->nodes; }
  uint64_t epoch() const { return live_.has_value() ? live_->terms.epoch : 0; }
  // Identifies the live session at this node, whatever epoch the peer has chosen. 0 without one.
  uint64_t number() const { return live_.has_value() ? last_number_ : 0; }
  // Summed over all sessions with this peer.
  SessionLedger ledger() const;
  // The bytes of the live session's envelopes that the peer has not acknowledged, of all kinds or of one.
  size_t bytes_waiting() const { return live_.has_value() ? live_->sequence.bytes_waiting() : 0; }
  size_t bytes_waiting(Room room) const { return live_.has_value() ? live_->sequence.bytes_waiting(room) : 0; }
  int64_t old_frames_refused() const { return old_frames_refused_; }
  // The number of streams refused because they claimed a session without a proof of its secret.
  int64_t unproved_refused() const { return unproved_refused_; }
  // The state in a line, with times from now to the second; for tests and logs.
  std::string DebugString(MonotonicTime now) const;

 private:
  // The terms that both ends agreed on when a session began, or will have agreed if an offer is taken.
  struct Terms {
    NodeIncarnation peer;
    uint64_t epoch;
    SessionSecret secret;
    uint32_t version;
    uint64_t features;
    SessionTimes times;
    std::string advertise;  // the peer's address
    uint64_t machine;       // Hello.machine of the peer
    // The peer's streams up to this dial are void.
    uint64_t peer_dial;
  };
  struct Live {
    Terms terms;
    NodePair nodes;
    ReliableSequence sequence;
    MonotonicTime grace_over = MonotonicTime::InfiniteFuture();
    bool stall_forgiven = false;  // since it became suspect
    // The mailboxes of the messages that were accepted, if the session has no grace period.
    std::set<uint32_t> mailboxes;
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
    // What waits needs more definitions than a stream may have. The stream is replaced as soon as the peer has
    // acknowledged everything that was written on it.
    bool is_spent = false;
    std::map<uint32_t, Definition> defined_in;
  };
  // A stream that this node dialled and that waits for its Welcome.
  struct Dial {
    uint64_t stream;
    MonotonicTime deadline;
    std::string key;  // this node's half of the secret of a new session
    bool is_proved;   // whether the dialled address proves the identity of the process that answers
    uint64_t resume_epoch = 0;
    bool writing = true;  // the Hello
  };
  // The result of judging a Hello.
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
  // A stream that the peer opened and whose Hello waits for a decision.
  struct Held {
    uint64_t stream;
    proto::Hello hello;
    StreamIdentity identity;
    MonotonicTime probe_over = MonotonicTime::InfiniteFuture();
  };
  // A session that this node offered in a Welcome. It begins with the next frame of that
  // stream, or when the peer resumes it by another stream.
  struct Offer {
    Terms terms;
    uint64_t stream;  // 0 when it has closed
    MonotonicTime deadline;
    bool writing = true;  // the Welcome
  };
  // A stream that stays open only so that the peer can read its last frame.
  struct Lingering {
    bool writing;
    std::string last_frame;  // empty when it is written
    MonotonicTime deadline;
  };

  // peer_session.cc
  void HandleFrame(const FrameView& frame, MonotonicTime now);
  absl::Status HandleSlots(const FrameView& frame, MonotonicTime now);
  // `reserve`: the slots of the frame until its first message has come, then 0.
  absl::Status HandleEnvelope(const ReliableSequence::Arrived& arrived, size_t& reserve, MonotonicTime now);
  absl::Status HandleMessage(internal::Message message, size_t& reserve);
  void HandleControl(const proto::Frame& frame, MonotonicTime now);
  void End(SessionEnd why, absl::string_view detail, MonotonicTime now);
  void LoseStream(absl::string_view why, MonotonicTime now);
  absl::Status CheckMailbox(const OutboundEnvelope& envelope);
  void Pump(MonotonicTime now);
  void ForgiveStall(MonotonicTime now);
  void TickStreams(MonotonicTime now);
  void Settle(MonotonicTime now);

  // peer_session_dial.cc: streams that this node dials.
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

  // peer_session_accept.cc: streams that the peer opens.
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

  // peer_session_terms.cc: shared by the two.
  absl::Status Begin(Terms terms);
  // The claim of the node that dialled (or accepted) the stream.
  enum class Side { kWeDialled, kWeAccepted };
  SessionClaim Claim(SessionClaim::Kind kind, Side side, const Terms& terms, uint64_t dial, uint64_t received) const;
  uint64_t NextEpoch() const;
  void Attach(uint64_t stream, bool writing, MonotonicTime now);
  void Farewell(uint64_t stream, bool writing, std::string last_frame, MonotonicTime now);
  absl::Duration Jittered(absl::Duration interval);

  SessionConfig config_;  // only BeginAnew changes it
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
  uint64_t last_number_;

  bool leaving_ = false;
  MonotonicTime leave_at_ = MonotonicTime::InfiniteFuture();
  SessionLedger ended_;
  int64_t old_frames_refused_ = 0;
  int64_t unproved_refused_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SESSION_PEER_SESSION_H_

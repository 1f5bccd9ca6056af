// NodeCore: a node without its sockets: it routes what the actors of one system
// send to other nodes, delivers what comes from them, and keeps the cluster's
// names. Streams come through Dialer and Accept; gRPC and the simulated network
// both fit.
//
// Guarantees. Per peer there is at most one live session (peer_session.h). When
// it ends, once: the peer's names go, then every ask, link and monitor over it
// ends with NoConnection. A send accepted here was accepted by a session. A
// message that the receiving system refuses is answered to its asker, and
// counted for a tell. A send needs credit (credit.h); without it, it is refused
// with Full. A peer may do
// what session_ties.h says; the rest is refused, and answered by signal.
//
// Threads: any. One mutex guards the state; it is never held while a stream, the
// system or the registry is called. What goes out is written by whichever thread
// is there; deliveries, registry changes and on_peer are called, in order, on
// threads of the transport only (those of streams and of run_at), never in a
// call of Router or NamePublisher: an actor may call those with its own lock
// held.
//
// Lifetime: the objects in the options outlive it. It is destroyed when no actor
// calls it any more, that is after its system's Shutdown (or, on one thread,
// when it is uninstalled), and not by its own callbacks. Streams may be open
// then: they are destroyed, and late events find nobody.
#ifndef UNDERSTUDY_TRANSPORT_NODE_CORE_H_
#define UNDERSTUDY_TRANSPORT_NODE_CORE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/dead_letter.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/room.h"
#include "understudy/actors/router.h"
#include "understudy/transport/credit.h"
#include "understudy/transport/frame_codec.h"
#include "understudy/transport/frame_stream.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/handshake.h"
#include "understudy/transport/name_table.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/peer_session.h"
#include "understudy/transport/peer_watch.h"
#include "understudy/transport/session_ties.h"
#include "understudy/transport/session_times.h"
#include "understudy/transport/stream_identity.h"

namespace understudy {

// What a node says of a peer.
struct PeerEvent {
  enum class Kind {
    kUp,             // a session began
    kSuspect,        // no stream carries it
    kResumed,        // one does again
    kEnded,          // for good
    kRefused,        // the peer refused our stream; `detail` says why
    kStreamRefused,  // this node refused a stream in the peer's name; `detail` says why
    kFailed,         // this node can begin no session with it; `detail` says why
    kNameRefused,    // it refused a name of ours that this node does not grant it; `detail` says which
  };
  Kind kind;
  std::string node;
  NodeIncarnation incarnation;
  uint64_t epoch = 0;
  std::string detail;

  // "up house-1 epoch 1"
  std::string ToString() const;
};

struct NodeCoreOptions {
  std::string node;  // a DNS label
  NodeIncarnation incarnation;
  uint16_t node_index = 0;  // NodeTable's, of the system itself
  // The place under which the system knows that peer (ActorSystem::InternPeer).
  std::function<absl::StatusOr<NodePlace>(absl::string_view node, NodeIncarnation)> intern_peer;
  // Other incarnations of the node than `alive` will not be heard of again, as far as can be known: there is a session
  // with another one, or the peer is forgotten (ActorSystem::MarkPeersDead).
  std::function<void(absl::string_view node, absl::optional<NodeIncarnation> alive)> mark_peers_dead;
  Clock* clock = nullptr;
  Inbound* inbound = nullptr;
  Registry* registry = nullptr;
  Dialer* dialer = nullptr;
  // Calls `callback` once at or soon after `time`, never before it returns
  // (Executor::RunAt does). It may be called when the core is gone.
  std::function<void(MonotonicTime time, absl::AnyInvocable<void()> callback)> run_at;
  // The same for heartbeats, on a thread that does nothing else; null: run_at.
  std::function<void(MonotonicTime time, absl::AnyInvocable<void()> callback)> beat_at;
  uint64_t seed = 0;
  // SessionConfig's.
  std::function<std::string()> new_key;
  // Whether a stream of that identity may speak for `node`, beside what
  // StreamIdentity::MayBe says; null: it may.
  std::function<bool(const StreamIdentity& identity, absl::string_view node)> may_claim;
  SessionTimes times;  // valid
  // The times of the session with that peer, where they are not `times`; may be
  // null. Called with the core's lock held.
  std::function<SessionTimes(absl::string_view peer)> times_for;
  Sequence::Bounds bounds;
  // A credit waits so long for others to travel with it.
  absl::Duration credit_delay = absl::Milliseconds(5);
  // What peers may do here.
  Grants grants;
  // Told what becomes of streams, to find out when a peer's process has ended; may
  // be null.
  internal::PeerWatch* watch = nullptr;
  // On a thread of the transport, in order, without locks; may be null.
  std::function<void(const PeerEvent&)> on_peer;
  // A tell of this node's that a peer's system refused, on a thread of the transport,
  // so it must not wait; null: Inbound::OnRefusedTell.
  std::function<void(const DeadLetter&)> on_dead_letter;
};

class NodeCore final : public Router, public NamePublisher {
 public:
  explicit NodeCore(NodeCoreOptions options);
  ~NodeCore() override;

  // ---- Peers ----

  // Where others can dial this node, told to peers that are met later.
  void SetAdvertise(absl::string_view address);
  // Keeps a place for the node, and dials it there from now on, whenever it has
  // no stream; replaces an earlier address. With an empty one it is left to dial
  // us. InvalidArgument for a name that is none, or our own; ResourceExhausted
  // when limits::kPeersMax are kept or have a session.
  absl::Status SetPeer(absl::string_view node, absl::string_view address);
  // Dials it no more, and keeps no place for it. A live session stays.
  void ForgetPeer(absl::string_view node);
  // From now on peers may do that here, and no more; what they did stays done, but
  // names are asked for once more.
  void SetGrants(Grants grants);
  // Whether that peer may do that here, by its present session. False without one.
  bool Allows(absl::string_view node, Operation operation, absl::string_view name = "");
  // For GrpcListener and the like: another node opened a stream, and `identity`
  // is what is known of it; a Hello in a name that it may not be is refused. If it is taken
  // (not null), `on_over` is called, as on_peer is, when the stream has closed and
  // all that arrived by it has been delivered, unless the core is gone.
  using OnStreamOver = std::function<void(const absl::Status& why)>;
  FrameStream::Events* Accept(std::unique_ptr<FrameStream> stream, const StreamIdentity& identity,
                              OnStreamOver on_over = nullptr);

  // The peer's process of that incarnation is proved dead: its session ends
  // without grace, unless a stream carries it (PeerSession::OnPeerProvedDead).
  void PeerProvedDead(absl::string_view node, NodeIncarnation incarnation);

  // From now on asks of peers that arrive are answered with Stopping, and so is
  // whoever publishes a name here. Tells, signals, answers, this node's own asks and
  // the asks that were delivered before go on.
  void BeginDrain();
  // Ends every session when what it accepted is acknowledged, at the latest
  // after SessionTimes::leave_timeout; accepts no stream and no send any more.
  void Leave(absl::string_view why);
  // Left, and every session has ended.
  bool has_left();

  // ---- Router ----
  absl::Status Send(const OutboundMessage& message) override;
  void Post(Signal signal) override;
  void Released(const ReleasedMessages& messages) override;
  void AskBack(Pid receiver, uint32_t mailbox) override;
  absl::optional<absl::Status> SendOrWait(const OutboundMessage& message, uint64_t wait) override;
  absl::Status SendInRoom(const OutboundMessage& message, uint64_t wait) override;
  void StopWaiting(Pid from, uint64_t wait) override;
  void EndWait(const RoomWait& wait, absl::Status status) override;

  // ---- NamePublisher ----
  void Publish(const NameRecord& record, absl::AnyInvocable<void(absl::Status)> done) override;
  void Withdraw(absl::string_view name, Pid owner) override;

  // ---- Observers ----

  std::vector<PeerStatus> Peers();
  // Of all sessions that there ever were.
  SessionLedger Ledger();

  // But for what the node counts: user_calls_dropped, peer_events_dropped.
  NodeCounters counters();

 private:
  // node_core_state.h
  struct Peer;
  class Link;
  class Door;

  // What must be done to a stream, without mu_.
  struct StreamWork {
    enum class Kind { kDial, kWrite, kBeat, kClose, kDestroy } kind;
    std::shared_ptr<Link> link;
    std::string node;  // that is dialled
    std::string text;  // the address, the frame or the heartbeat
    absl::Duration interval = absl::InfiniteDuration();
  };
  struct MessagesDelivery {
    std::string peer;
    uint64_t epoch;
    std::vector<internal::Message> messages;
  };
  // The changes that are before it in the row were a part of a peer's names.
  struct NamesEntered {
    std::string peer;
    uint64_t epoch;
  };
  // What is due in the peer's account of credit.
  struct CreditWork {
    std::string peer;
    uint64_t epoch;
  };
  // Reserved room goes back.
  struct RoomReturn {
    RoomRequest room;
  };
  // A sender of a peer enters the line of those that wait for room, or leaves it.
  struct LineChange {
    enum class Kind : uint8_t { kEnters, kLeaves } kind;
    RoomWait wait;
  };
  struct StreamOver {
    OnStreamOver told;
    absl::Status why;
  };
  // What must be told to the system, without mu_.
  using Delivery = std::variant<MessagesDelivery, CreditWork, RoomReturn, LineChange, Signal, DeadLetter,
                                NameTable::Change, NamesEntered, PeerEvent, StreamOver>;

  // node_core.cc: streams and sessions.
  Peer* FindPeer(absl::string_view node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<Peer*> AddValidPeer(absl::string_view node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Peer* AddPeer(absl::string_view node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool MayPublish(absl::string_view node, absl::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnLinkFrame(const std::shared_ptr<Link>& link, absl::string_view frame);
  void OnLinkWritten(const std::shared_ptr<Link>& link);
  void OnLinkClosed(const std::shared_ptr<Link>& link, const absl::Status& why);
  // node_core_accept.cc: streams whose node is not known yet.
  void BindAccepted(const std::shared_ptr<Link>& link, absl::string_view frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // False when no peer of which nothing is proved has a handshake that is not complete.
  bool EndOldestHandshake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::optional<Refusal> CheckStranger(const Link& link, const proto::Hello& hello) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<NodePlace> TakePlace(const std::string& node, NodeIncarnation incarnation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReportRefusal(absl::string_view node, const Refusal& refusal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // node_core_identity.cc: what is proved of peers.
  bool IsGranted(const Peer& peer, SignalKind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<Link> CarrierOf(const Peer& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WatchPeer(const Peer& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Tick(MonotonicTime scheduled);
  void CarryOut(Peer& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnBegun(Peer& peer, const SessionBegun& begun) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnEnded(Peer& peer, const SessionEnded& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Report(Peer& peer, PeerEvent::Kind kind, absl::string_view detail) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void UpdateDialable(Peer& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<Link> NewLink() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Heartbeats, without mu_.
  void BeatAt(MonotonicTime time, const std::shared_ptr<Link>& link);
  static void EndBeats(Peer& peer);
  void CloseStranger(const std::shared_ptr<Link>& link) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WakeAt(MonotonicTime time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The peer is visited when something is due there, at the latest.
  void SetDue(Peer& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static bool IsIdle(const Peer& peer);
  void EraseIdlePeers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // What a change of the state leaves to be done without mu_. The thread that took it is the only one that works on
  // streams, or delivers, until it has taken the rest that this left in turn.
  struct Rest {
    std::vector<StreamWork> stream_work;
    std::vector<Delivery> deliveries;
    MonotonicTime wake = MonotonicTime::InfiniteFuture();
  };
  // Holds mu_ for a change of the state, and does what that leaves to be done when it goes: deliveries in events only.
  enum class Change { kCall, kEvent };
  class Changing;
  // Holds mu_ for a part of a delivery: what it leaves to be done is done after the delivery.
  class Locked;
  // The clock's, read once while mu_ is held.
  MonotonicTime Now() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Rest TakeRest(Change change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Do(Rest rest, Change change) ABSL_LOCKS_EXCLUDED(mu_);
  void Work(StreamWork& work) ABSL_LOCKS_EXCLUDED(mu_);

  // node_core_delivery.cc: what arrives.
  void OnEnvelope(Peer& peer, EnvelopeArrived arrived) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnMessages(Peer& peer, std::vector<internal::Message> messages) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether the peer has credit for it; else its session has ended.
  bool HasCredit(Peer& peer, const internal::Message& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnRefused(Peer& peer, const RefusedMessage& refused) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountForged(Pid to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnSignal(Peer& peer, Signal signal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnNames(Peer& peer, const NamesPart& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TakeNameChanges() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TellNames(Peer& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TellAllNames() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RefuseMessage(Peer& peer, const RefusedMessage& refused, Admission admission) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status AppendTo(Peer& peer, OutboundEnvelope&& envelope) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AppendOrEnd(Peer& peer, OutboundEnvelope envelope) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AppendSignal(Peer& peer, const Signal& signal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AppendReply(Peer& peer, const Signal& reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Carry(MessagesDelivery delivery);
  void Carry(Signal signal);
  void Carry(const DeadLetter& letter);
  void Carry(const NameTable::Change& change);
  void Carry(const NamesEntered& entered);
  void EndOwner(const NameTable::Change& change, const ExitReason& reason);
  void Carry(const PeerEvent& event);
  static void Carry(const StreamOver& over) { over.told(over.why); }

  // node_core_credit.cc: room in mailboxes.
  // What a send without credit answers; the peer is asked for some.
  absl::Status NoCredit(Peer& peer, const MailboxAddress& mailbox, int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnCredit(Peer& peer, const CreditChanges& changes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // `told` collects what the peer is to be told.
  absl::Status OnCreditChange(Peer& peer, const CreditChange& change, CreditChanges& told)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether the peer may be told what can wait.
  static bool MayTellMore(const Peer& peer);
  // What is to be done comes soon.
  void ScheduleCredit(Peer& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TellCredit(Peer& peer, const CreditChanges& changes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TickCredit(Peer& peer, MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndCredit(Peer& peer, NodePlace peer_node, uint64_t epoch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Carry(const CreditWork& work);
  void Carry(const RoomReturn& returned) { options_.inbound->GiveBack(returned.room); }
  // Senders that wait for room: of this node (kGrant or kRefuse came), and of the peer (kWant or kReturn came).
  absl::Status OnWantAnswered(Peer& peer, const CreditChange& answer, CreditChanges& told)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status OnPeerWaits(Peer& peer, const CreditChange& want, CreditChanges& told)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnPeerGaveUp(Peer& peer, const CreditChange& change, CreditChanges& told) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EnterLines(Peer& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Carry(const LineChange& change);

  // node_core_routing.cc: what actors send.
  // The peer with that place, when a session with its incarnation is live; else
  // null and the reason.
  Peer* PeerAt(NodePlace node, ExitReason& unreachable) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Remembers the type; InvalidArgument when the mailbox's name cannot travel.
  absl::Status NoteMailbox(const OutboundMessage& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A signal that must not pass the releases of names before it.
  void HoldSignal(Peer& peer, Signal signal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A message with that credit, or beyond what any credit covers.
  absl::Status Append(Peer& peer, const OutboundMessage& message, absl::string_view payload, Admission admission)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const NodeCoreOptions options_;
  const std::shared_ptr<Door> door_;

  absl::Mutex mu_;
  absl::optional<MonotonicTime> now_ ABSL_GUARDED_BY(mu_);
  std::string spare_bytes_ ABSL_GUARDED_BY(mu_);  // memory for the next message's envelope
  std::string advertise_ ABSL_GUARDED_BY(mu_);
  Random random_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, std::unique_ptr<Peer>, std::less<>> peers_ ABSL_GUARDED_BY(mu_);
  uint64_t last_peer_ ABSL_GUARDED_BY(mu_) = 0;
  // By time and number, when peers are to be visited.
  std::map<std::pair<MonotonicTime, uint64_t>, Peer*> due_ ABSL_GUARDED_BY(mu_);
  // Those that may be idle. They are erased when nobody's hands are on them.
  std::vector<std::string> idle_peers_ ABSL_GUARDED_BY(mu_);
  SessionLedger erased_ ABSL_GUARDED_BY(mu_);  // of the peers that were
  // Every stream that has not closed, by its number here.
  std::map<uint64_t, std::shared_ptr<Link>> links_ ABSL_GUARDED_BY(mu_);
  uint64_t last_link_ ABSL_GUARDED_BY(mu_) = 0;
  // Accepted, and waiting for their Hello until then.
  std::map<uint64_t, MonotonicTime> strangers_ ABSL_GUARDED_BY(mu_);
  // Incarnations that began a session without a proof of their identity, each as often as it came back after another.
  int64_t unproved_met_ ABSL_GUARDED_BY(mu_) = 0;
  NameTable names_ ABSL_GUARDED_BY(mu_);
  NodeCounters counters_ ABSL_GUARDED_BY(mu_);
  struct TypedMailbox {
    uint32_t mailbox = 0;
    const internal::MessageType* type = nullptr;
    friend bool operator==(const TypedMailbox&, const TypedMailbox&) = default;
  };
  TypedMailbox last_mailbox_ ABSL_GUARDED_BY(mu_);  // the last that was noted
  // The type that was last sent to a mailbox of that name: of a refused tell only the mailbox comes back.
  absl::flat_hash_map<uint32_t, const internal::MessageType*> told_types_ ABSL_GUARDED_BY(mu_);
  bool leaving_ ABSL_GUARDED_BY(mu_) = false;
  // Written with mu_ held. A delivery reads it without.
  std::atomic<bool> draining_{false};
  Grants grants_ ABSL_GUARDED_BY(mu_);

  std::vector<StreamWork> stream_work_ ABSL_GUARDED_BY(mu_);
  bool working_on_streams_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Delivery> deliveries_ ABSL_GUARDED_BY(mu_);
  bool delivering_ ABSL_GUARDED_BY(mu_) = false;
  MonotonicTime wake_wanted_ ABSL_GUARDED_BY(mu_) = MonotonicTime::InfiniteFuture();
  MonotonicTime wake_at_ ABSL_GUARDED_BY(mu_) = MonotonicTime::InfiniteFuture();

  // The registry's owner of each cluster name, as this node put it there.
  // Touched only while delivering_ is ours.
  std::map<std::string, Pid> shown_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_NODE_CORE_H_

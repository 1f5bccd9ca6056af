// PeerCore: what a node does for one peer: its session and what hangs on that, its
// streams, what arrives from it and what is sent to it.
//
// A core is a place that one peer has after another: Occupy gives it to a peer, and
// Vacate takes it back when nothing keeps that peer. The object stays until the
// node's end, so that a thread may use it without knowing whose it is by now: each
// operation looks, under the core's lock, whether the session that it means is there.
//
// One core, without a peer, has what belongs to none: streams whose node is not
// known yet, and answers to signals that reach no peer.
//
// Locks. Each core has its own, and no two are held at once. It comes after the lock
// of the node's table of peers, and before the leaves: names, timer, links, the turns
// of a stream. It is never held while a stream, the system or the registry is called
// (Inbound::WasGivenOut and NodeCoreOptions' functions may be).
//
// Work. What a change of the state leaves to be done on streams, and in the system,
// stands in two rows. One thread at a time does what stands in a row, so each keeps
// its order; those of two peers are done at the same time. Deliveries are made in
// events only.
#ifndef UNDERSTUDY_TRANSPORT_CORE_PEER_CORE_H_
#define UNDERSTUDY_TRANSPORT_CORE_PEER_CORE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/dead_letter.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/actors/router.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/core/credit_receiver.h"
#include "understudy/transport/core/credit_sender.h"
#include "understudy/transport/core/node_core_options.h"
#include "understudy/transport/core/node_link.h"
#include "understudy/transport/core/node_parts.h"
#include "understudy/transport/core/outstanding_requests.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/names/name_feed.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy::internal {

// In a call of an actor nothing is delivered: a thread of the transport comes for it. An event comes on such a thread.
// So does a visit in time, which has other peers to visit, and so delivers what is there, and not what comes meanwhile.
enum class Change { kCall, kEvent, kTick };

class PeerCore {
 public:
  // Numbers are given once, in order.
  PeerCore(NodeParts& parts, uint64_t number) : parts_(parts), options_(parts.options), number_(number) {}
  PeerCore(const PeerCore&) = delete;
  PeerCore& operator=(const PeerCore&) = delete;

  // ---- With the node's table locked: what these leave to be done waits for Settle ----

  // Nobody has the core; `tenancy` is given once. The config's peer_place is filled in here.
  void Occupy(SessionConfig config, uint64_t tenancy, std::shared_ptr<const Grants> grants, PeerOrigin origin);
  // Gives the core back, unless something keeps the peer. Then its ledger.
  absl::optional<SessionLedger> Vacate();
  // The same for a peer without a session, whose place another one takes at once: its streams are closed.
  absl::optional<SessionLedger> Evict();
  void SetKept(bool is_kept, absl::string_view address);
  void SetGrants(std::shared_ptr<const Grants> grants);
  // The stream is the peer's, as its Hello says.
  void Bind(const std::shared_ptr<NodeLink>& link, const proto::Hello& hello);
  struct Standing {
    uint64_t tenancy = 0;
    bool is_unproved = false;    // it came by itself, nothing proves its identity, and nobody keeps it
    bool is_live = false;        // it has a session
    bool is_delivering = false;  // of what it left some is not delivered yet
  };
  Standing standing();
  // For the core that has no peer.
  void Write(const std::shared_ptr<NodeLink>& link, std::string frame);
  void Close(const std::shared_ptr<NodeLink>& link);
  void Report(PeerEvent event);
  void VisitAt(MonotonicTime time);

  // ---- Without a lock. First what the node wants ----

  // Does what waits.
  void Settle(Change change);
  void Leave(absl::string_view why);
  // Tells the peer the names that it has not been told.
  void TellNames();
  bool Allows(Operation operation, absl::string_view name);

  // ---- Events ----

  void OnFrame(const NodeLink& link, absl::string_view frame);
  void OnWritten(const NodeLink& link);
  void OnClosed(const std::shared_ptr<NodeLink>& link, const absl::Status& why);
  void OnProvedDead(absl::string_view node, NodeIncarnation incarnation);
  void Tick();

  // ---- Router. Each gives false, and does nothing, unless the peer has a live
  // session with the incarnation of that place. ----

  bool Send(const OutboundMessage& message, absl::string_view payload, absl::Status& accepted);
  bool SendOrWait(const OutboundMessage& message, absl::string_view payload, uint64_t wait,
                  absl::optional<absl::Status>& outcome);
  // The payload's status says whether it was serialised.
  bool SendInRoom(const OutboundMessage& message, const absl::StatusOr<absl::string_view>& payload, uint64_t wait,
                  absl::Status& accepted);
  bool Post(Signal& signal);
  bool Released(const ReleasedMessages& messages);
  bool EndWait(const RoomWait& wait, const absl::Status& status);
  // False when the sender does not wait here.
  bool StopWaiting(Pid from, uint64_t wait);
  void AskBack(Pid receiver, uint32_t mailbox);
  // After what stands in the row.
  void Deliver(Signal signal);
  void GiveBack(const RoomRequest& room);
  // Why a signal to that incarnation, which no session reaches, is answered.
  ExitReason WhyUnreachable(const NodeEntry& entry);

  // ---- Observers ----

  absl::optional<PeerStatus> status();  // nothing without a peer
  SessionLedger ledger();
  // Of all peers that had the core.
  NodeCounters counters();

 private:
  class Changing;
  class Locked;

  struct TypedMailbox {
    uint32_t mailbox = 0;
    const MessageType* type = nullptr;
    friend bool operator==(const TypedMailbox&, const TypedMailbox&) = default;
  };
  // A sender of this node for whose message the peer has kept room in its mailbox.
  struct GrantedSender {
    CreditSender::Waiter waiter;
    Pid to;
    size_t bytes_max = 0;  // of its envelope
  };
  // The peer that has the core.
  struct Peer {
    Peer(SessionConfig config, uint64_t its_tenancy, std::shared_ptr<const Grants> its_grants, PeerOrigin origin)
        : name(config.peer),
          tenancy(its_tenancy),
          session(std::move(config)),
          grants(std::move(its_grants)),
          is_unproved(origin == PeerOrigin::kUnproved) {}

    const std::string name;
    const uint64_t tenancy;
    PeerSession session;
    OutstandingRequests ties;              // of the live session
    std::shared_ptr<const Grants> grants;  // the node's
    // What was proved on the stream with which the live session began.
    StreamIdentity identity;
    // With which the last session began.
    NodeIncarnation last_met;
    std::map<uint64_t, std::shared_ptr<NodeLink>> streams;
    // The one that was last told to carry the session, until the session is suspect or over. Another stream may be
    // there already, to carry the next session.
    std::shared_ptr<NodeLink> beating;
    bool is_kept = false;  // from SetPeer to ForgetPeer
    bool is_unproved;      // its PeerOrigin, until a stream proves its identity
    std::string configured_address;
    std::string learned_address;  // told by the peer; good while its session lives
    std::string dialled_address;  // what the session was last told to dial
    // Of the live session.
    CreditSender credit_out;
    CreditReceiver credit_in;
    // Senders of this node that have room in their mailboxes, in the order in which they got it: they wait for the
    // session's own. And what the session keeps for those that have been told.
    std::deque<GrantedSender> session_line;
    std::map<CreditSender::Waiter, size_t> kept_bytes;
    MonotonicTime credit_at = MonotonicTime::InfiniteFuture();       // what is due is done then
    MonotonicTime credit_look_at = MonotonicTime::InfiniteFuture();  // for what lies unused
    bool is_crediting = false;                                       // a CreditWork is on its way
    // For PeerStatus.
    std::map<ErrorKind, int64_t> refused_by_peer;
    int64_t without_credit = 0;
    int64_t forbidden = 0;
    bool carrying_out = false;  // its session's actions
    // The type that was last sent to a mailbox of that name: of a refused tell only the mailbox comes back.
    absl::flat_hash_map<uint32_t, const MessageType*> told_types;
    TypedMailbox last_mailbox;  // the last that was noted
    std::string spare_bytes;    // memory for the next message's envelope
  };

  // What must be done to a stream.
  struct StreamWork {
    enum class Kind { kDial, kWrite, kBeat, kClose, kDestroy } kind;
    std::shared_ptr<NodeLink> link;
    std::string node;  // that is dialled
    std::string text;  // the address, the frame or the heartbeat
    absl::Duration interval = absl::InfiniteDuration();
  };
  // A session: none has the same two.
  struct SessionId {
    uint64_t tenancy = 0;
    uint64_t epoch = 0;  // 0: none was live any more
  };
  struct MessagesDelivery {
    SessionId session;
    std::vector<Message> messages;
  };
  // What stands in the row of names is to be carried first.
  struct NamesFirst {};
  // A part of the peer's names is entered, once the names are carried.
  struct NamesEntered {
    SessionId session;
  };
  // What is due in the peer's account of credit.
  struct CreditWork {
    SessionId session;
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
    NodeLink::OnOver told;
    absl::Status why;
  };
  // What must be told to the system.
  using Delivery = std::variant<MessagesDelivery, CreditWork, RoomReturn, LineChange, Signal, DeadLetter, NamesFirst,
                                NamesEntered, PeerEvent, StreamOver>;

  // peer_core.cc: streams and sessions.
  absl::StatusOr<NodePlace> TakePlace(NodeIncarnation incarnation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Apply() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Apply(SessionAction& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CloseStreamOf(uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnDial(const DialStream& dial) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnBegun(const SessionBegun& begun) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnEnded(const SessionEnded& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReportKind(PeerEvent::Kind kind, absl::string_view detail) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void UpdateDialable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<NodeLink> Carrier() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WatchPeer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndBeats() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::optional<SessionLedger> TakeLedgerAndGo() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsAt(const SessionId& session) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsLive(const SessionId& session) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  SessionId Session() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return {peer_->tenancy, peer_->session.epoch()}; }
  // The core is visited when something is due there, at the latest.
  void SetDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetDueAt(MonotonicTime time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The clock's, read once while mu_ is held.
  MonotonicTime Now() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // peer_core_work.cc: what a change of the state leaves to be done without the lock. The thread that took it is the
  // only one that works on streams, or delivers, until it has taken the rest that this left in turn.
  struct Rest {
    std::vector<StreamWork> stream_work;
    std::vector<Delivery> deliveries;
    MonotonicTime wake = MonotonicTime::InfiniteFuture();
    bool tells_names = false;
    bool is_idle = false;
  };
  Rest TakeRest(Change change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Do(Rest rest, Change change) ABSL_LOCKS_EXCLUDED(mu_);
  void Work(StreamWork& work) ABSL_LOCKS_EXCLUDED(mu_);

  // peer_core_delivery.cc: what arrives.
  void OnEnvelope(EnvelopeArrived arrived) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnMessages(std::vector<Message> messages) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether the peer has credit for it; else its session has ended.
  bool HasCredit(const Message& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnRefused(const RefusedMessage& refused) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountForged(Pid to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsGranted(SignalKind kind) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnSignal(Signal signal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnNames(const NamesPart& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TellNamesLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RefuseMessage(const RefusedMessage& refused, Admission admission) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Carry(MessagesDelivery delivery);
  void Carry(Signal signal) { options_.inbound->Deliver(std::move(signal)); }
  void Carry(const DeadLetter& letter);
  void Carry(const NamesFirst& /*names*/) { parts_.names.Carry(); }
  void Carry(const NamesEntered& entered);
  void Carry(const PeerEvent& event);
  static void Carry(const StreamOver& over) { over.told(over.why); }

  // peer_core_credit.cc: room in mailboxes.
  // What a send without credit answers; the peer is asked for some.
  absl::Status NoCredit(const MailboxAddress& mailbox, int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnCredit(const CreditChanges& changes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // `told` collects what the peer is to be told.
  absl::Status OnCreditChange(const CreditChange& change, CreditChanges& told) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether the peer may be told what can wait.
  bool MayTellMore() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What is to be done comes soon.
  void ScheduleCredit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TellCredit(const CreditChanges& changes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TickCredit(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndCredit(NodePlace peer_node, uint64_t epoch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Carry(const CreditWork& work);
  void Carry(const RoomReturn& returned) { options_.inbound->GiveBack(returned.room); }
  // Senders that wait for room: of this node (kGrant or kRefuse came), and of the peer (kWant or kReturn came).
  absl::Status OnWantAnswered(const CreditChange& answer, CreditChanges& told) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Those that have room in their mailboxes are told, one after another, as far as the session has room for them.
  void ServeSessionLine() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // False when it neither waits nor has room.
  bool GiveUp(const CreditSender::Waiter& waiter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status OnPeerWaits(const CreditChange& want, CreditChanges& told) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnPeerGaveUp(const CreditChange& change, CreditChanges& told) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EnterLines() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Carry(const LineChange& change);

  // peer_core_routing.cc: what actors send.
  bool Reaches(NodePlace node) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Remembers the type; InvalidArgument when the mailbox's name cannot travel.
  absl::Status NoteMailbox(const OutboundMessage& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A message with that credit, or beyond what any credit covers; and with what the session keeps for it.
  absl::Status Append(const OutboundMessage& message, absl::string_view payload, Admission admission,
                      size_t kept_bytes = 0) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A signal that must not pass the releases of names before it.
  void HoldSignal(Signal signal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status AppendTo(OutboundEnvelope&& envelope) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AppendOrEnd(OutboundEnvelope envelope) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Cuts the signal's reason when many bytes of signals are held or unacknowledged.
  void ShortenReason(Signal& signal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AppendSignal(const Signal& signal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AppendReply(const Signal& reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  NodeParts& parts_;
  const NodeCoreOptions& options_;
  const uint64_t number_;

  absl::Mutex mu_;
  absl::optional<MonotonicTime> now_ ABSL_GUARDED_BY(mu_);
  absl::optional<Peer> peer_ ABSL_GUARDED_BY(mu_);
  NodeCounters counters_ ABSL_GUARDED_BY(mu_);
  MonotonicTime due_at_ ABSL_GUARDED_BY(mu_) = MonotonicTime::InfiniteFuture();  // its place in the timer
  MonotonicTime wake_ ABSL_GUARDED_BY(mu_) = MonotonicTime::InfiniteFuture();    // asked for by the timer
  bool tells_names_ ABSL_GUARDED_BY(mu_) = false;  // other peers may have to be told, once mu_ is free
  bool may_be_idle_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<StreamWork> stream_work_ ABSL_GUARDED_BY(mu_);
  bool working_on_streams_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Delivery> deliveries_ ABSL_GUARDED_BY(mu_);
  bool delivering_ ABSL_GUARDED_BY(mu_) = false;

  // Holds mu_ for a part of a delivery, or under the table's lock: what it leaves to be done is done later.
  class ABSL_SCOPED_LOCKABLE Locked {
   public:
    explicit Locked(PeerCore& core) ABSL_EXCLUSIVE_LOCK_FUNCTION(core.mu_) : core_(core) {
      core_.mu_.Lock();
      core_.now_.reset();
    }
    ~Locked() ABSL_UNLOCK_FUNCTION() { core_.mu_.Unlock(); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

   private:
    PeerCore& core_;
  };
  // Holds mu_ for a change of the state, and does what that leaves to be done when it goes.
  class ABSL_SCOPED_LOCKABLE Changing {
   public:
    Changing(PeerCore& core, Change change) ABSL_EXCLUSIVE_LOCK_FUNCTION(core.mu_) : core_(core), change_(change) {
      core_.mu_.Lock();
      core_.now_.reset();
    }
    ~Changing() ABSL_UNLOCK_FUNCTION() {
      Rest rest = core_.TakeRest(change_);
      core_.mu_.Unlock();
      core_.Do(std::move(rest), change_);
    }
    Changing(const Changing&) = delete;
    Changing& operator=(const Changing&) = delete;

   private:
    PeerCore& core_;
    const Change change_;
  };
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CORE_PEER_CORE_H_

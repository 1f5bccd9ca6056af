// PeerCore: a node's side of one peer: the session with the peer, the asks, links,
// monitors and credit that depend on the session, the peer's streams, and the
// delivery of what arrives from the peer.
//
// A core serves one peer after another: Occupy assigns it to a peer, and Vacate
// releases it when nothing keeps that peer. The object lives as long as the node, so a
// thread may use a pointer to it without knowing which peer has it now: each operation
// checks, under the core's lock, that the core has the session that is meant.
//
// A node has one core without a peer, for the work that belongs to no peer: streams
// whose node is not known yet, and answers to signals that reach no peer.
//
// Locks. Each core has a lock of its own, mu_, and no thread holds the locks of two
// cores. mu_ is acquired after the lock of the node's table of peers, and before the
// leaves: the locks of the names, the timer, the links and the turns of a stream. No
// stream, no actor system and no registry is called with mu_ held. Exceptions are
// Inbound::WasGivenOut, Dialer::IdentityAt, the PeerWatch, the clock, and the functions
// intern_peer, mark_peers_dead and new_key of NodeCoreOptions.
//
// Work. A change of the state under mu_ may require calls of streams (StreamWork) and
// of the system (Delivery). It appends these to two queues, stream_work_ and
// deliveries_. At most one thread at a time works off each queue, so each keeps its
// order; the queues of two peers are worked off in parallel. Deliveries are made by
// threads of the transport only, never in a call of an actor.
#ifndef UNDERSTUDY_TRANSPORT_CORE_PEER_CORE_H_
#define UNDERSTUDY_TRANSPORT_CORE_PEER_CORE_H_

#include <cstddef>
#include <cstdint>
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
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/actors/router.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/core/node_core_options.h"
#include "understudy/transport/core/node_link.h"
#include "understudy/transport/core/node_parts.h"
#include "understudy/transport/core/outstanding_requests.h"
#include "understudy/transport/core/peer_credit.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/names/name_feed.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy::internal {

// The kind of caller that changes the state of a core. It decides whether deliveries are made afterwards.
// kCall: a call that an actor may have made. It makes no deliveries; a thread of the transport is called for them.
// kEvent: an event on a thread of the transport. It makes deliveries until none is left.
// kTick: the node's timer visits the core on a thread of the transport. It makes the deliveries that are there, and
// leaves those that come meanwhile to the next visit, because it has other peers to visit.
enum class Change { kCall, kEvent, kTick };

class PeerCore {
 public:
  // `number` is unique among the cores of a node, and orders their visits by the timer.
  PeerCore(NodeParts& parts, uint64_t number) : parts_(parts), options_(parts.options), number_(number) {}
  PeerCore(const PeerCore&) = delete;
  PeerCore& operator=(const PeerCore&) = delete;

  // ---- Called with the node's table locked. The work that these leave is done by Settle. ----

  // Assigns the core to the peer `config.peer`. Requires that no peer has the core, and that `tenancy` is new; it
  // identifies the assignment. Sets config.peer_place.
  void Occupy(SessionConfig config, uint64_t tenancy, std::shared_ptr<const Grants> grants, PeerOrigin origin);
  // Takes the core from its peer and returns the peer's ledger, if nothing keeps the peer: it is not kept (SetKept) and
  // has no session, offer, stream or delivery. Else returns nothing.
  absl::optional<SessionLedger> Vacate();
  // Like Vacate, but also if handshakes with the peer are under way: closes its streams, so that another peer can have
  // its place at once. Returns nothing if the peer is kept, has a session, or deliveries for it are pending.
  absl::optional<SessionLedger> Evict();
  void SetKept(bool is_kept, absl::string_view address);
  void SetGrants(std::shared_ptr<const Grants> grants);
  // Makes an accepted stream, which sent `hello`, a stream of the peer.
  void Bind(const std::shared_ptr<NodeLink>& link, const proto::Hello& hello);
  struct Standing {
    uint64_t tenancy = 0;
    bool is_unproved = false;    // the peer dialled this node, nothing proves its identity, and SetPeer did not name it
    bool is_live = false;        // the peer has a session
    bool is_delivering = false;  // deliveries of the core are pending
  };
  Standing standing();
  // These four append work to the queues, or set a visit; they are for the core that never has a peer.
  void Write(const std::shared_ptr<NodeLink>& link, std::string frame);
  void Close(const std::shared_ptr<NodeLink>& link);
  void Report(PeerEvent event);
  void VisitAt(MonotonicTime time);

  // ---- Called without a lock. First the requests of the node ----

  // Does the pending work, as far as `change` permits.
  void Settle(Change change);
  void Leave(absl::string_view why);
  // Keeps the peer, without an address, for a process that this node is about to start (PeerSession::BeginAnew).
  void Expect(const SessionTimes& times);
  // Sends the peer the changes of names that it has not been sent.
  void TellNames();
  // Whether the peer may do that here, by its present session; false without one.
  bool Allows(Operation operation, absl::string_view name);

  // ---- Events ----

  void OnFrame(const NodeLink& link, absl::string_view frame);
  void OnWritten(const NodeLink& link);
  void OnClosed(const std::shared_ptr<NodeLink>& link, const absl::Status& why);
  void OnProvedDead(absl::string_view node, NodeIncarnation incarnation);
  // Called by the node's timer. Does the work of this peer's credit and session that is due by now.
  void Tick();

  // ---- Router. Each function that returns bool returns false, and does nothing,
  // unless the peer has a live session with the incarnation at that place. ----

  // Sets `accepted` to what Router::Send returns.
  bool Send(const OutboundMessage& message, absl::string_view payload, absl::Status& accepted);
  bool SendOrWait(const OutboundMessage& message, absl::string_view payload, uint64_t wait,
                  absl::optional<absl::Status>& outcome);
  // `payload` is an error if the message could not be serialized; then the room is given up.
  bool SendInRoom(const OutboundMessage& message, const absl::StatusOr<absl::string_view>& payload, uint64_t wait,
                  absl::Status& accepted);
  bool Post(Signal& signal);
  bool Released(const ReleasedMessages& messages);
  bool EndWait(const RoomWait& wait, const absl::Status& status);
  // Returns false if that sender does not wait for room at this peer.
  bool StopWaiting(Pid from, uint64_t wait);
  void AskBack(Pid receiver, uint32_t mailbox);
  // Deliver and GiveBack append to the deliveries, and a thread of the transport makes them.
  void Deliver(Signal signal);
  void GiveBack(const RoomRequest& room);
  // Returns the reason with which a signal to that incarnation is answered when no session reaches it.
  ExitReason WhyUnreachable(const NodeEntry& entry);

  // ---- Observers ----

  absl::optional<PeerStatus> status();  // nothing without a peer
  SessionLedger ledger();
  // Summed over all peers that have had the core.
  NodeCounters counters();
  // The calls of the peer that this node has not answered yet.
  size_t unanswered_calls();

 private:
  class Changing;
  class Locked;

  struct TypedMailbox {
    uint32_t mailbox = 0;
    const MessageType* type = nullptr;
    friend bool operator==(const TypedMailbox&, const TypedMailbox&) = default;
  };
  // The peer that has the core.
  struct Peer {
    Peer(SessionConfig config, uint64_t its_tenancy, std::shared_ptr<const Grants> its_grants, PeerOrigin origin,
         absl::Duration credit_delay)
        : name(config.peer),
          tenancy(its_tenancy),
          session(std::move(config)),
          credit(name, credit_delay),
          grants(std::move(its_grants)),
          is_unproved(origin == PeerOrigin::kUnproved) {}

    const std::string name;
    const uint64_t tenancy;
    PeerSession session;
    OutstandingRequests requests;          // of the live session
    PeerCredit credit;                     // likewise
    std::shared_ptr<const Grants> grants;  // the node's
    // The identity proved on the stream with which the live session began.
    StreamIdentity identity;
    // The peer's incarnation that last got a place in the table of nodes.
    NodeIncarnation last_met;
    std::map<uint64_t, std::shared_ptr<NodeLink>> streams;
    // The stream that writes heartbeats: the last one that was told to carry the session, until the session is suspect
    // or over. `streams` may already have another one that is to carry the next session.
    std::shared_ptr<NodeLink> beating;
    bool is_kept = false;             // from SetPeer to ForgetPeer
    bool is_unproved;                 // its PeerOrigin, until a stream proves its identity
    bool is_of_this_machine = false;  // by the machine that it told in the handshake
    std::string configured_address;
    std::string learned_address;  // told by the peer; good while its session lives
    std::string dialled_address;  // what the session was last told to dial
    // For PeerStatus.
    std::map<ErrorKind, int64_t> refused_by_peer;
    int64_t forbidden = 0;
    bool is_applying = false;  // Apply runs the session's actions
    // For each mailbox name, the type that was last sent to it, because a refused tell comes back without its type.
    absl::flat_hash_map<uint32_t, const MessageType*> told_types;
    TypedMailbox last_mailbox;  // what was last put into told_types, so that a repetition is cheap
    std::string spare_bytes;    // memory for the next message's envelope
  };

  // A call of a stream, made without mu_.
  struct StreamWork {
    enum class Kind { kDial, kWrite, kBeat, kClose, kDestroy } kind;
    std::shared_ptr<NodeLink> link;
    std::string node;  // kDial: the node that is dialled
    std::string text;  // the address, the frame or the heartbeat
    absl::Duration interval = absl::InfiniteDuration();
  };
  // Identifies a session among all that the core has had.
  struct SessionId {
    uint64_t tenancy = 0;
    uint64_t number = 0;  // PeerSession::number(); 0: no session was live any more
  };
  struct MessagesDelivery {
    SessionId session;
    std::vector<Message> messages;
  };
  // Makes the pending changes of names in the registry, before the deliveries behind this one.
  struct NamesFirst {};
  // Tells the name table that a part of the peer's names has been made known in the registry.
  struct NamesEntered {
    SessionId session;
  };
  // Reserves the room that is due, and grants it to the peer.
  struct CreditWork {
    SessionId session;
  };
  using RoomReturn = PeerCredit::RoomReturn;
  using LineChange = PeerCredit::LineChange;
  struct StreamOver {
    NodeLink::OnOver told;
    absl::Status why;
  };
  // A call of the system or of the program, made without mu_.
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
  void ReportRefusal(PeerEvent::Kind kind, proto::Refuse::Reason reason, absl::string_view detail)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void UpdateDialable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::shared_ptr<NodeLink> Carrier() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WatchPeer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndBeats() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::optional<SessionLedger> TakeLedgerAndGo() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsAt(const SessionId& session) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsLive(const SessionId& session) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  SessionId Session() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return {peer_->tenancy, peer_->session.number()}; }
  // Asks the timer to visit the core by the time at which something is next due, or by `time`.
  void SetDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetDueAt(MonotonicTime time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Reads the clock once for each time that mu_ is acquired.
  MonotonicTime Now() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // peer_core_work.cc: the work that a change of the state leaves to be done without the lock. The thread that takes
  // stream_work (or deliveries) that are not empty is the only one that works on streams (or delivers) until Do has
  // done them and has called TakeRest again.
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
  // For a message to a mailbox whose hash belongs to another name here.
  void OnUndeliverable(const Message& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnMessages(std::vector<Message> messages) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Counts an arrived message against the peer's credit and its unanswered calls. Returns false if the peer exceeded
  // either; the session has then ended for a bad frame.
  bool HasCredit(const Message& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnRefused(const RefusedMessage& refused) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountForged(Pid to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsGranted(SignalKind kind) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnSignal(Signal signal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnNames(const NamesPart& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TellNamesLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RefuseMessage(const RefusedMessage& refused, Admission admission) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Perform(MessagesDelivery delivery);
  void Perform(Signal signal) { options_.inbound->Deliver(std::move(signal)); }
  void Perform(const DeadLetter& letter);
  void Perform(const NamesFirst& /*names*/) { parts_.names.MakeChanges(); }
  void Perform(const NamesEntered& entered);
  void Perform(const PeerEvent& event);
  static void Perform(const StreamOver& over) { over.told(over.why); }

  // peer_core_credit.cc: room in mailboxes.
  void OnCredit(const CreditChanges& changes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  PeerCredit::Backlog CreditBacklog() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Has what follows from arrived or released messages and from changes of credit done, at once or later.
  void ScheduleCredit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Takes the two lists of PeerCredit: sends the changes of credit to the peer, and appends the work for the system to
  // the deliveries.
  void ApplyCredit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns false if `waiter` neither waits nor has room.
  bool GiveUp(const PeerCredit::Waiter& waiter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Perform(const CreditWork& work);
  void Perform(const RoomReturn& returned) { options_.inbound->GiveBack(returned.room); }
  void Perform(const LineChange& change);

  // peer_core_routing.cc: what actors send.
  bool Reaches(NodePlace node) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Remembers the type; InvalidArgument when the mailbox's name cannot travel.
  absl::Status NoteMailbox(const OutboundMessage& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  const TraceContext* TraceOf(const OutboundMessage& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Appends a message that uses credit of kind `admission` to the session, or returns why not. `kept_bytes` are the
  // bytes that the session keeps for this message.
  absl::Status Append(const OutboundMessage& message, absl::string_view payload, Admission admission,
                      size_t kept_bytes = 0) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Holds a signal back in the name table, so that it does not overtake the releases of names before it.
  void HoldSignal(Signal signal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status AppendTo(OutboundEnvelope&& envelope) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AppendOrEnd(OutboundEnvelope envelope) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Cuts the signal's reason when many bytes of signals are held or unacknowledged.
  void ShortenReason(Signal& signal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AppendSignal(const Signal& signal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AppendReply(const Signal& reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // This node is about to answer a call of the peer. Returns false if it awaits no answer. Has its callee told if it
  // still reads the call's upload.
  bool AwaitsAnswer(Pid asker, uint64_t ask) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Sends a signal that IsOfStream, unless the stream is over.
  void PostOfStream(const Signal& signal) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Like AppendReply: if there is no room, the stream of `item` ends at both sides with Full.
  void AppendItem(const Signal& item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  NodeParts& parts_;
  const NodeCoreOptions& options_;
  const uint64_t number_;

  absl::Mutex mu_;
  absl::optional<MonotonicTime> now_ ABSL_GUARDED_BY(mu_);
  absl::optional<Peer> peer_ ABSL_GUARDED_BY(mu_);
  NodeCounters counters_ ABSL_GUARDED_BY(mu_);
  MonotonicTime due_at_ ABSL_GUARDED_BY(mu_) = MonotonicTime::InfiniteFuture();  // the time of its visit in the timer
  MonotonicTime wake_ ABSL_GUARDED_BY(mu_) =
      MonotonicTime::InfiniteFuture();             // when the node must be woken, as the timer said
  bool tells_names_ ABSL_GUARDED_BY(mu_) = false;  // other peers may have to be told names, once mu_ is free
  bool may_be_idle_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<StreamWork> stream_work_ ABSL_GUARDED_BY(mu_);
  bool working_on_streams_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Delivery> deliveries_ ABSL_GUARDED_BY(mu_);
  bool delivering_ ABSL_GUARDED_BY(mu_) = false;

  // Holds mu_ within a delivery, or under the table's lock. Work that is left is done later, by Do or Settle.
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
  // Holds mu_ for a change of the state. Its destructor releases mu_ and then does the work that the change left.
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

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
// what outstanding_requests.h says; the rest is refused, and answered by signal.
//
// Threads: any. Each peer has a lock and a row of deliveries of its own
// (peer_core.h): what is sent to one peer, and what arrives from it, waits for no
// other. No lock is held while a stream, the system or the registry is called, but
// for that which orders the changes of names (node_names.h). What goes out is
// written by whichever thread is there; deliveries, registry changes and on_peer are
// called on threads of the transport only (those of streams and of run_at), never in
// a call of Router or NamePublisher: an actor may call those with its own lock held.
// What concerns one peer is called in order; what concerns two, at the same time
// perhaps, except changes of names, which have one order.
//
// Lifetime: the objects in the options outlive it. It is destroyed when no actor
// calls it any more, that is after its system's Shutdown (or, on one thread,
// when it is uninstalled), and not by its own callbacks. Streams may be open
// then: they are destroyed, and late events find nobody.
#ifndef UNDERSTUDY_TRANSPORT_CORE_NODE_CORE_H_
#define UNDERSTUDY_TRANSPORT_CORE_NODE_CORE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/room.h"
#include "understudy/actors/router.h"
#include "understudy/transport/core/node_core_options.h"
#include "understudy/transport/core/node_link.h"
#include "understudy/transport/core/node_parts.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/handshake.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {

class NodeCore final : public Router,
                       public NamePublisher,
                       private internal::NodeLinkOwner,
                       private internal::PeerCoreOwner {
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
  void Vacate(absl::string_view name, Pid owner) override;
  void Free(absl::string_view name) override;

  // ---- Observers ----

  std::vector<PeerStatus> Peers();
  // Of all sessions that there ever were.
  SessionLedger Ledger();

  // But for what the node counts: user_calls_dropped, peer_events_dropped.
  NodeCounters counters();

 private:
  using PeerCore = internal::PeerCore;
  using NodeLink = internal::NodeLink;

  // ---- The table of peers. Its lock is the first: those of cores come after it. ----

  PeerCore* FindPeer(absl::string_view node) ABSL_EXCLUSIVE_LOCKS_REQUIRED(table_mu_);
  // Null when all places are taken.
  PeerCore* AddPeer(absl::string_view node, internal::PeerOrigin origin) ABSL_EXCLUSIVE_LOCKS_REQUIRED(table_mu_);
  PeerCore* NewCore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(table_mu_);
  // The peer has gone; that was what it has sent and received.
  void ErasePeer(PeerCore& core, const SessionLedger& ledger) ABSL_EXCLUSIVE_LOCKS_REQUIRED(table_mu_);
  // Every core, without a lock; some have no peer.
  void ForEachCore(absl::FunctionRef<void(PeerCore&)> visit) const;
  // Calls `reach` with the core that has a session with the incarnation of that place, as far as is known, until it
  // gives true. Else why nobody is reached.
  absl::optional<ExitReason> Reach(NodePlace node, absl::FunctionRef<bool(PeerCore&)> reach);

  // ---- node_core_accept.cc: streams whose node is not known yet ----

  // Gives the core whose peer gave its place up for this one, to be settled; null when there is none.
  PeerCore* BindAccepted(const std::shared_ptr<NodeLink>& link, absl::string_view frame)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(table_mu_);
  // The oldest peer of which nothing is proved, and whose handshake is not complete, gives its place up. Gives its
  // core; null when there is none.
  PeerCore* EndOldestHandshake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(table_mu_);
  absl::optional<Refusal> CheckStranger(const NodeLink& link, const proto::Hello& hello, PeerCore*& evicted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(table_mu_);
  void ClosePendingHandshake(const std::shared_ptr<NodeLink>& link) ABSL_EXCLUSIVE_LOCKS_REQUIRED(table_mu_);
  void CloseLateStrangers();

  // ---- Events ----

  void OnLinkFrame(const std::shared_ptr<NodeLink>& link, absl::string_view frame) override;
  void OnLinkWritten(const std::shared_ptr<NodeLink>& link) override;
  void OnLinkClosed(const std::shared_ptr<NodeLink>& link, const absl::Status& why) override;
  MonotonicTime ReadClock() const override;
  void Tick(MonotonicTime scheduled);
  void WakeAt(MonotonicTime time) override;
  void TellNames() override;
  void OnIdle(PeerCore& core) override;
  // After a call that changed names: the registry is told on a thread of the transport.
  void NamesChanged();

  internal::NodeParts parts_;
  const std::shared_ptr<internal::BackReference<NodeCore>> back_reference_;  // for timers
  // What belongs to no peer.
  const std::unique_ptr<PeerCore> nobody_;
  // Written with table_mu_ held.
  std::atomic<bool> leaving_{false};
  // Each is set once, in order, and kept until the end.
  std::array<std::atomic<PeerCore*>, limits::kPeersMax> cores_ = {};

  absl::Mutex table_mu_;
  std::vector<std::unique_ptr<PeerCore>> owned_cores_ ABSL_GUARDED_BY(table_mu_);
  std::vector<PeerCore*> free_cores_ ABSL_GUARDED_BY(table_mu_);
  std::map<std::string, PeerCore*, std::less<>> peers_ ABSL_GUARDED_BY(table_mu_);
  uint64_t last_tenancy_ ABSL_GUARDED_BY(table_mu_) = 0;
  std::string advertise_ ABSL_GUARDED_BY(table_mu_);
  Random random_ ABSL_GUARDED_BY(table_mu_);
  std::shared_ptr<const Grants> grants_ ABSL_GUARDED_BY(table_mu_);
  SessionLedger erased_ ABSL_GUARDED_BY(table_mu_);  // of the peers that were
  // Accepted, and waiting for their Hello until then.
  struct PendingHandshake {
    std::shared_ptr<NodeLink> link;
    MonotonicTime deadline;
  };
  std::map<uint64_t, PendingHandshake> pending_handshakes_ ABSL_GUARDED_BY(table_mu_);
  int64_t streams_refused_ ABSL_GUARDED_BY(table_mu_) = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CORE_NODE_CORE_H_

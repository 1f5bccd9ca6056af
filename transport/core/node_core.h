// NodeCore: a node without its sockets. It routes what the actors of one system
// send to other nodes, delivers what comes from other nodes, and keeps the cluster's
// names. It gets streams from a Dialer and through Accept, so it works over gRPC and
// over the simulated network.
//
// Guarantees. There is at most one live session with each peer (peer_session.h). The
// end of a session is handled once: the peer's names are removed, then every ask,
// link and monitor over the session ends with NoConnection. Send returns OK only if a
// session has accepted the message. If the receiving system refuses a message, a
// call's asker gets the error, and a tell becomes a dead letter at its sender. A send
// needs credit (credit.h); without credit it is refused with Full. Signals that
// outstanding_requests.h does not allow a peer are refused, and answered by signal.
//
// Threads: any. Each peer has a lock and a queue of deliveries of its own
// (peer_core.h), so traffic with one peer does not wait for another. No lock is held
// while a stream, the system or the registry is called, except the lock that orders
// the changes of names (node_names.h). Frames are written by the thread that caused
// them. Deliveries, changes of the registry and on_peer are called only on threads of
// the transport (those of streams and of run_at), never in a call of Router or
// NamePublisher, because an actor may make such a call with its own lock held. Calls
// that concern one peer come in order. Calls that concern two peers may come at the
// same time, except changes of names, which have one order.
//
// Lifetime: the objects in the options must outlive the NodeCore. Destroy it when no
// actor calls it any more: after its system's Shutdown or, in a program with one
// thread, once it is uninstalled; and not in one of its own callbacks. The destructor
// destroys streams that are still open, and ignores their late events.
#ifndef UNDERSTUDY_TRANSPORT_CORE_NODE_CORE_H_
#define UNDERSTUDY_TRANSPORT_CORE_NODE_CORE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
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
#include "understudy/transport/core/peer_table.h"
#include "understudy/transport/core/pending_handshakes.h"
#include "understudy/transport/grants.h"
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

  // Sets the address at which other nodes can dial this node. Only peers that are
  // added later are told.
  void SetAdvertise(absl::string_view address);
  // Makes `node` a peer and keeps its place until ForgetPeer. From now on it is dialled
  // at `address`, which replaces an earlier one, whenever it has no stream. With an
  // empty address this node does not dial it, and waits to be dialled. Returns
  // InvalidArgument if `node` is not a valid node name or is this node's own, and
  // ResourceExhausted if there are limits::kPeersMax peers already.
  absl::Status SetPeer(absl::string_view node, absl::string_view address);
  // Like SetPeer without an address, for a process of that name which this node is about to start: a session with
  // another process of that name ends. From now on, may_claim must let that process alone have the name.
  absl::Status ExpectChild(absl::string_view node);
  // Stops dialling `node`, and gives up its place unless it has a session. A live
  // session goes on.
  void ForgetPeer(absl::string_view node);
  // Replaces what peers may do here. What they have done stays done, except that peers
  // are asked for their names again, so that names that are no longer granted go.
  void SetGrants(Grants grants);
  // Returns whether `node` may do `operation` here in its present session; false if it has none.
  bool Allows(absl::string_view node, Operation operation, absl::string_view name = "");
  // Called by listeners, such as GrpcListener, when another node opened a stream.
  // `identity` is what is known of that node; a Hello with a name that this identity
  // does not permit is refused. Returns the object that is to get the stream's events,
  // or null if the stream is not accepted. `on_over` may be null. If the stream is
  // accepted, `on_over` is called on a thread of the transport when the stream has
  // closed and all that arrived by it has been delivered, unless the NodeCore is gone.
  using OnStreamOver = std::function<void(const absl::Status& why)>;
  FrameStream::Events* Accept(std::unique_ptr<FrameStream> stream, const StreamIdentity& identity,
                              OnStreamOver on_over = nullptr);

  // The process of that incarnation of `node` is proved dead. Its session ends without
  // a grace period, unless a stream carries it (PeerSession::OnPeerProvedDead).
  void PeerProvedDead(absl::string_view node, NodeIncarnation incarnation);

  // From now on asks that arrive from peers are answered with Stopping, and so is each
  // Publish. Tells, signals, answers, this node's own asks and asks that were delivered
  // before are not affected.
  void BeginDrain();
  // Ends each session as soon as all that it accepted is acknowledged, at the latest
  // after SessionTimes::leave_timeout. No streams or sends are accepted from now on.
  void Leave(absl::string_view why);
  // Whether Leave was called and every session has ended.
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
  // The sum over all sessions that this node ever had.
  SessionLedger Ledger();

  // The work that this node's peers and actors lose if the node ends now.
  struct OpenWork {
    size_t names = 0;  // of the cluster, that this node owns or keeps vacant
    size_t calls = 0;  // of peers, that this node has not answered yet
  };
  OpenWork open_work();

  // All counters except user_calls_dropped and peer_events_dropped, which the node counts.
  NodeCounters counters();

 private:
  using PeerCore = internal::PeerCore;
  using NodeLink = internal::NodeLink;

  // Returns the peer's core, which is a new one unless the peer is in the table; null if all places are taken.
  PeerCore* AddPeer(absl::string_view node, internal::PeerOrigin origin) ABSL_EXCLUSIVE_LOCKS_REQUIRED(table_mu_);
  // Calls `keep` with the core of `node`, which is to be kept. See SetPeer for the errors.
  absl::Status KeepPeer(absl::string_view node, absl::FunctionRef<void(PeerCore&)> keep);
  // Calls `reach` with the core that probably has a session with the incarnation at `node`, and if that returns false,
  // with the core of the peer of that name. Returns nothing as soon as `reach` returns true, else the reason why the
  // incarnation cannot be reached.
  absl::optional<ExitReason> Reach(NodePlace node, absl::FunctionRef<bool(PeerCore&)> reach);

  // ---- node_core_accept.cc: streams whose node is not known yet ----

  // Handles the first frame of an accepted stream. Returns the core whose peer was evicted to make place, which the
  // caller must Settle; null if there is none.
  PeerCore* BindAccepted(const std::shared_ptr<NodeLink>& link, absl::string_view frame)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(table_mu_);
  // Checks a Hello of a stream that belongs to no peer yet. Returns why it is refused, or nothing if there is a place
  // for the peer. Sets `evicted` if a peer was evicted for that.
  absl::optional<Refusal> CheckNewPeer(const NodeLink& link, const proto::Hello& hello, PeerCore*& evicted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(table_mu_);
  void CloseLateHandshakes();

  // ---- Events ----

  void OnLinkFrame(const std::shared_ptr<NodeLink>& link, absl::string_view frame) override;
  void OnLinkWritten(const std::shared_ptr<NodeLink>& link) override;
  void OnLinkClosed(const std::shared_ptr<NodeLink>& link, const absl::Status& why) override;
  MonotonicTime ReadClock() const override;
  void Tick(MonotonicTime scheduled);
  void WakeAt(MonotonicTime time) override;
  void TellNames() override;
  void OnIdle(PeerCore& core) override;
  // Call after a change of names: lets a thread of the transport change the registry, and tells the peers.
  void NamesChanged();

  internal::NodeParts parts_;
  const std::shared_ptr<internal::BackReference<NodeCore>> back_reference_;  // for timers
  // The core that never has a peer (peer_core.h).
  const std::unique_ptr<PeerCore> no_peer_;
  internal::PeerCores cores_;  // of peers
  // Written with table_mu_ held.
  std::atomic<bool> leaving_{false};

  // Acquired before the locks of the cores.
  absl::Mutex table_mu_;
  internal::PeerTable table_ ABSL_GUARDED_BY(table_mu_);
  internal::PendingHandshakes handshakes_ ABSL_GUARDED_BY(table_mu_);
  std::string advertise_ ABSL_GUARDED_BY(table_mu_);
  Random random_ ABSL_GUARDED_BY(table_mu_);
  std::shared_ptr<const Grants> grants_ ABSL_GUARDED_BY(table_mu_);
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CORE_NODE_CORE_H_

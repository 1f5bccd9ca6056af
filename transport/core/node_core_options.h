// NodeCoreOptions: the parts from which a NodeCore (node_core.h) is made.
#ifndef UNDERSTUDY_TRANSPORT_CORE_NODE_CORE_OPTIONS_H_
#define UNDERSTUDY_TRANSPORT_CORE_NODE_CORE_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/dead_letter.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/router.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/peer_watch.h"
#include "understudy/transport/session/reliable_sequence.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/session_times.h"

namespace google::protobuf {
class DescriptorPool;
}  // namespace google::protobuf

namespace understudy {

// The functions and objects in the options may be called for two peers at the same time.
struct NodeCoreOptions {
  std::string node;  // a DNS label
  NodeIncarnation incarnation;
  uint16_t node_index = 0;  // the system's own index in the NodeTable
  // Returns the place of that incarnation in the table of nodes, as ActorSystem::InternPeer does.
  std::function<absl::StatusOr<NodePlace>(absl::string_view node, NodeIncarnation)> intern_peer;
  // Marks all incarnations of `node` except `alive` dead, as ActorSystem::MarkPeersDead does. Called when a session
  // with `alive` begins, and without `alive` when the node ceases to be a peer.
  std::function<void(absl::string_view node, absl::optional<NodeIncarnation> alive)> mark_peers_dead;
  Clock* clock = nullptr;
  Inbound* inbound = nullptr;
  Registry* registry = nullptr;
  Dialer* dialer = nullptr;
  // Calls `callback` once at or soon after `time`, never before run_at itself returns,
  // as Executor::RunAt does. `callback` may be called when the NodeCore is gone.
  std::function<void(MonotonicTime time, absl::AnyInvocable<void()> callback)> run_at;
  // Like run_at, but used only for heartbeats, so it should have a thread that does
  // nothing else; null: run_at is used.
  std::function<void(MonotonicTime time, absl::AnyInvocable<void()> callback)> beat_at;
  uint64_t machine = 0;  // SessionConfig::machine
  uint64_t seed = 0;
  // As SessionConfig::new_key.
  std::function<std::string()> new_key;
  // Whether a stream of that identity may speak for `node`; a further condition beside
  // StreamIdentity::MayBe. Null: there is none.
  std::function<bool(const StreamIdentity& identity, absl::string_view node)> may_claim;
  // The system has traces (ActorSystemOptions::tracing): the node offers kFeatureTraces.
  bool has_traces = false;
  SessionTimes times;  // valid
  // Returns the times of the session with `peer`; null: they are `times` for all peers.
  // Called with the lock of the table of peers held.
  std::function<SessionTimes(absl::string_view peer)> times_for;
  ReliableSequence::Bounds bounds;
  // How long a change of credit waits for others to travel with it, unless the peer may need it sooner.
  absl::Duration credit_delay = absl::Milliseconds(50);
  // Declares the messages of this node's actors, whose fingerprints peers are told (LocalTypes). If it is null, the
  // messages that are linked into this program are taken.
  const google::protobuf::DescriptorPool* messages = nullptr;
  // The operations that each peer may do here. NodeCore::SetGrants replaces it.
  Grants grants;
  // Is told which streams carry sessions and when they break, so that it can find out
  // when a peer's process has ended; may be null.
  internal::PeerWatch* watch = nullptr;
  // Called with each PeerEvent on a thread of the transport, without locks. The events of
  // one peer come in order; those of two peers may come at the same time. May be null.
  std::function<void(const PeerEvent&)> on_peer;
  // Called for each tell of this node that a peer's system refused, on a thread of the
  // transport, so it must not block; null: Inbound::OnRefusedTell is called.
  std::function<void(const DeadLetter&)> on_dead_letter;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CORE_NODE_CORE_OPTIONS_H_

// What a NodeCore (node_core.h) is made of, and what it says of its peers.
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
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/peer_watch.h"
#include "understudy/transport/session/reliable_sequence.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/session_times.h"

namespace understudy {

// What a node says of a peer.
struct PeerEvent {
  enum class Kind {
    kUp,              // a session began
    kSuspect,         // no stream carries it
    kResumed,         // one does again
    kEnded,           // for good
    kRefused,         // the peer refused our stream; `detail` says why
    kStreamRefused,   // this node refused a stream in the peer's name; `detail` says why
    kFailed,          // this node can begin no session with it; `detail` says why
    kNameRefused,     // it refused a name of ours that this node does not grant it; `detail` says which
    kNameNotGranted,  // it claims a name that this node does not grant it; `detail` says which
  };
  Kind kind;
  std::string node;
  NodeIncarnation incarnation;
  uint64_t epoch = 0;
  std::string detail;

  // "up house-1 epoch 1"
  std::string ToString() const;
};

// Functions and objects in it are called for two peers perhaps at the same time.
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
  // null. Called with the lock of the table of peers held.
  std::function<SessionTimes(absl::string_view peer)> times_for;
  ReliableSequence::Bounds bounds;
  // A credit waits so long for others to travel with it, unless the peer may need it sooner.
  absl::Duration credit_delay = absl::Milliseconds(50);
  // What peers may do here.
  Grants grants;
  // Told what becomes of streams, to find out when a peer's process has ended; may
  // be null.
  internal::PeerWatch* watch = nullptr;
  // On threads of the transport, without locks: the events of one peer in order, those
  // of two at the same time perhaps. May be null.
  std::function<void(const PeerEvent&)> on_peer;
  // A tell of this node's that a peer's system refused, on a thread of the transport,
  // so it must not wait; null: Inbound::OnRefusedTell.
  std::function<void(const DeadLetter&)> on_dead_letter;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CORE_NODE_CORE_OPTIONS_H_

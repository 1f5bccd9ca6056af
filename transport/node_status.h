// PeerEvent, PeerStatus and NodeCounters: the events of a node's peers (NodeOptions::on_peer), and snapshots
// of the peers' state and of the node's counters (Node::Peers, Node::counters). Plain values; any thread.
//
//   for (const PeerStatus& peer : node->Peers()) std::cout << peer.ToString() << '\n';
#ifndef UNDERSTUDY_TRANSPORT_NODE_STATUS_H_
#define UNDERSTUDY_TRANSPORT_NODE_STATUS_H_

#include <cstdint>
#include <map>
#include <string>

#include "understudy/actors/error.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/transport/session/session_ledger.h"
#include "understudy/transport/session_times.h"

namespace understudy {

// A change in a node's relation to one of its peers.
struct PeerEvent {
  enum class Kind {
    kUp,              // a session began
    kSuspect,         // no stream carries the session
    kResumed,         // a stream carries the session again
    kEnded,           // the session ended for good
    kRefused,         // the peer refused our stream; `detail` says why
    kStreamRefused,   // this node refused a stream in the peer's name; `detail` says why
    kFailed,          // this node cannot begin a session with the peer; `detail` says why
    kNameRefused,     // it refused a name of ours that this node does not grant it; `detail` says which
    kNameNotGranted,  // it claims a name that this node refuses it; `detail` says which and why
  };
  Kind kind;
  std::string node;
  NodeIncarnation incarnation;
  uint64_t epoch = 0;
  std::string detail;

  // "up house-1 epoch 1"
  std::string ToString() const;
};

// Counts begin when the node learns of the peer. A node forgets a peer that it was not told to keep when the peer's
// session ends.
struct PeerStatus {
  std::string node;
  std::string address;          // where this node dials it; empty if it does not
  bool is_live = false;         // a session exists
  bool is_up = false;           // a stream carries the session; a live session without one is suspect
  NodeIncarnation incarnation;  // of the live session
  uint64_t epoch = 0;           // of the live session; 0 without one
  SessionTimes times;           // as agreed for the live session
  // Counts of the envelopes of all sessions with the peer.
  SessionLedger ledger;
  int64_t bytes_waiting = 0;  // accepted by the session, and not acknowledged by the peer
  RoomAmount credit_held;     // granted by the peer and not used yet
  RoomAmount credit_given;    // granted to the peer and not used yet
  // Counts of this node's messages that the peer's system refused, by reason.
  std::map<ErrorKind, int64_t> refused_by_peer;
  int64_t without_credit = 0;  // sends that were refused here because the peer had granted no room
  int64_t forbidden = 0;       // exits, links and other signals of the peer that no grant allows
  int64_t claims_refused = 0;  // names that the peer claims in the live session and this node refuses

  // Returns one line for logs: "house-1 up, epoch 2 at 127.0.0.1:7001; …".
  std::string ToString() const;
};

// Counts since the start of the node.
struct NodeCounters {
  int64_t refused_tells = 0;    // tells that a peer's system refused; each is a dead letter on this node
  int64_t forbidden = 0;        // signals of peers that had no grant for them
  int64_t late = 0;             // replies and signals that came when their receiver no longer waited for them
  int64_t streams_refused = 0;  // accepted streams that were closed or refused before they belonged to a session
  // Refused streams by cause: those of `streams_refused`, and also streams whose Hello named a peer that the node
  // already has. The causes are "no_room", "no_hello", "not_a_hello", "gave_way", and the reasons of proto::Refuse in
  // lower case, such as "name_taken".
  std::map<std::string, int64_t> streams_refused_by_cause;
  // Streams that this node dialled and a peer refused, by the cause that the peer gave: the reasons of proto::Refuse in
  // lower case.
  std::map<std::string, int64_t> dials_refused_by_cause;
  int64_t sessions_begun = 0;
  // By cause: "grace_over", "peer_left", …
  std::map<std::string, int64_t> sessions_ended_by_cause;
  int64_t user_calls_dropped = 0;   // log lines and dead letters dropped because the log sink or listener was too slow
  int64_t forged = 0;               // messages and signals to pids that this node never gave out
  int64_t peer_events_dropped = 0;  // events dropped because NodeOptions::on_peer was too slow
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_NODE_STATUS_H_

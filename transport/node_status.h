// What a node shows of itself and of its peers: values of one moment. Any thread.
#ifndef UNDERSTUDY_TRANSPORT_NODE_STATUS_H_
#define UNDERSTUDY_TRANSPORT_NODE_STATUS_H_

#include <cstdint>
#include <map>
#include <string>

#include "understudy/actors/error.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/transport/session/reliable_sequence.h"
#include "understudy/transport/session_times.h"

namespace understudy {

// Counts are since the node knows the peer; it forgets one that it need not keep when its session has ended.
struct PeerStatus {
  std::string node;
  std::string address;          // where it is dialled; empty: nowhere
  bool is_live = false;         // there is a session
  bool is_up = false;           // and a stream carries it; else it is suspect
  NodeIncarnation incarnation;  // of the live session
  uint64_t epoch = 0;           // of the live session; 0 without one
  SessionTimes times;           // as agreed for the live session
  // Envelopes of all sessions.
  SessionLedger ledger;
  int64_t bytes_waiting = 0;  // written or to be written, and not acknowledged
  RoomAmount credit_held;     // granted by the peer, and not used
  RoomAmount credit_given;    // granted to the peer, and not used
  // Messages of ours that the peer's system refused, by the reason.
  std::map<ErrorKind, int64_t> refused_by_peer;
  int64_t without_credit = 0;  // sends that were refused here because the peer had granted no room
  int64_t forbidden = 0;       // exits, links and the like of the peer's that no grant allows
  int64_t claims_refused = 0;  // names of the live session's peer that no grant allows: this node does not know them

  // A line for logs: "house-1 up, epoch 2 at 127.0.0.1:7001; …".
  std::string ToString() const;
};

// Since the node began.
struct NodeCounters {
  int64_t refused_tells = 0;        // told, and refused by the peer's system: each is a dead letter here
  int64_t forbidden = 0;            // signals of peers without a grant
  int64_t late = 0;                 // replies and signals that nobody waited for
  int64_t streams_refused = 0;      // accepted, and closed or refused before they were a peer's
  int64_t user_calls_dropped = 0;   // log lines and dead letters for a log sink or listener that was too slow
  int64_t forged = 0;               // messages and signals to pids that were never given out
  int64_t peer_events_dropped = 0;  // that NodeOptions::on_peer was not told of, because it was behind
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_NODE_STATUS_H_

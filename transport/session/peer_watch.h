// PeerWatch: the interface by which a NodeCore reports its peers' sessions to the object
// that finds out when a peer's process has ended (evidence_watch.h). That object calls
// NodeCore::PeerProvedDead with what it found.
//
// Threads: any. Calls come with a lock of the core held, so an implementation must not
// call the NodeCore from them.
#ifndef UNDERSTUDY_TRANSPORT_SESSION_PEER_WATCH_H_
#define UNDERSTUDY_TRANSPORT_SESSION_PEER_WATCH_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class PeerProcess;  // peer_process.h

class PeerWatch {
 public:
  virtual ~PeerWatch() = default;
  // A stream carries the session with that incarnation of `node`. `address` is where the
  // node listens: this node dials it there, and it has advertised the same address. It is
  // empty if it is not known, if this node dials another address, perhaps a proxy's, or if
  // the node does not prove by its Hello.machine that it is of this machine.
  // `process` is the process at the stream's other end, if it is known; else null.
  virtual void OnCarried(absl::string_view node, NodeIncarnation incarnation, absl::string_view address,
                         std::shared_ptr<const PeerProcess> process) = 0;
  // No stream carries the session any more.
  virtual void OnBroken(absl::string_view node) = 0;
  // The session has ended.
  virtual void OnOver(absl::string_view node) = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SESSION_PEER_WATCH_H_

// PeerWatch: what a node's core tells whoever gathers proofs that the process of a
// peer has ended (evidence_watch.h), which tells the core by
// NodeCore::PeerProvedDead.
//
// Threads: any; calls come with the core's lock held, so an implementation does
// not call the core back in them.
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
  // A stream carries the session with that incarnation of `node`, which listens at
  // `address`: it is dialled there and has advertised the same. Empty: not known, or
  // dialled elsewhere, perhaps through a proxy. `process` is that at the stream's
  // other end, where it is known.
  virtual void OnCarried(absl::string_view node, NodeIncarnation incarnation, absl::string_view address,
                         std::shared_ptr<const PeerProcess> process) = 0;
  // No stream carries the session any more.
  virtual void OnBroken(absl::string_view node) = 0;
  // The session has ended.
  virtual void OnOver(absl::string_view node) = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SESSION_PEER_WATCH_H_

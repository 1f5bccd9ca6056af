// PeerEvidence: decides whether it is proved that the process of a peer has ended, so that
// its session need not wait for the grace period.
//
// A plain state machine: no sockets, threads or clock inside. While no stream carries the
// session, the end of the process is proved
//  - by a pidfd of the peer's process, which reported its end; or
//  - if there is no such pidfd, by two dials in a row to the address at which the peer
//    listens on this machine, kBetweenDials apart, which were refused because no process
//    listens there.
// Every other outcome of a dial proves nothing: a full backlog, no descriptor left, a dial
// that hangs, a connection. A stream that carries the session discards the evidence.
#ifndef UNDERSTUDY_TRANSPORT_SOCKETS_PEER_EVIDENCE_H_
#define UNDERSTUDY_TRANSPORT_SOCKETS_PEER_EVIDENCE_H_

#include "absl/time/time.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {

class PeerEvidence {
 public:
  // The time between two dials. One refusal is not enough, because a listener may just be replaced.
  static constexpr absl::Duration kBetweenDials = absl::Milliseconds(100);
  // The time to the next dial after one that proved nothing, for example because it came just before the listening
  // socket was closed. It is short enough that a killed process is proved dead within a second.
  static constexpr absl::Duration kDialsAgainAfter = absl::Milliseconds(250);

  // A stream carries the session from now on. `has_address`: the peer listens at an
  // address of this machine. `has_process`: a pidfd of its process is open.
  void OnCarried(bool has_address, bool has_process);
  // The session has lost its stream.
  void OnBroken(MonotonicTime now);
  // The pidfd of the stream that carries the session, or carried it last, reports the end of the process.
  void OnProcessEnded();

  // The time at which to begin a dial; InfiniteFuture if no dial is needed.
  MonotonicTime NextDial() const { return dial_at_; }
  // The dial has begun; no other is needed before its outcome.
  void OnDialBegun() { dial_at_ = MonotonicTime::InfiniteFuture(); }
  // The dial failed with ECONNREFUSED or ENOENT.
  void OnNobodyListens(MonotonicTime now);
  // The dial had any other outcome.
  void OnDialProvedNothing(MonotonicTime now);

  bool is_proved() const;

 private:
  enum class Process { kUnknown, kLives, kEnded };
  bool MayDial() const;

  bool carried_ = true;
  bool has_address_ = false;
  Process process_ = Process::kUnknown;
  int refusals_ = 0;  // in a row
  MonotonicTime dial_at_ = MonotonicTime::InfiniteFuture();
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SOCKETS_PEER_EVIDENCE_H_

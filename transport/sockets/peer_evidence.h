// PeerEvidence: whether the process of one peer is proved to have ended, which
// makes its grace period needless.
//
// A plain state machine: no sockets, threads or clock inside. It is proved, when
// no stream carries the session,
//  - by the end of the peer's process, which a pidfd told; or
//  - where no pidfd says that the process lives, by two dials of our own to the
//    address at which the peer listens on this machine, kBetweenDials apart, which
//    found that nobody listens there.
// Every other outcome of a dial proves nothing: a full backlog, no descriptor, a
// dial that hangs, an answer. A stream that carries the session ends the
// inquiry.
#ifndef UNDERSTUDY_TRANSPORT_SOCKETS_PEER_EVIDENCE_H_
#define UNDERSTUDY_TRANSPORT_SOCKETS_PEER_EVIDENCE_H_

#include "absl/time/time.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {

class PeerEvidence {
 public:
  // One refusal may be a listener that is just being replaced.
  static constexpr absl::Duration kBetweenDials = absl::Milliseconds(100);
  // After a dial that proved nothing, as one does that came just before the listening socket was closed: short enough
  // that a process which is killed then is proved dead within a second.
  static constexpr absl::Duration kDialsAgainAfter = absl::Milliseconds(250);

  // A stream carries the session from now on. `has_address`: the peer listens at an
  // address of this machine. `has_process`: a pidfd of its process is open.
  void OnCarried(bool has_address, bool has_process);
  // No stream carries it any more.
  void OnBroken(MonotonicTime now);
  // The pidfd of the stream that carries, or carried last, says so.
  void OnProcessEnded();

  // When to begin a dial; InfiniteFuture when none is wanted.
  MonotonicTime NextDial() const { return dial_at_; }
  // It has begun: none other is wanted before its outcome.
  void OnDialBegun() { dial_at_ = MonotonicTime::InfiniteFuture(); }
  // ECONNREFUSED or ENOENT from connect.
  void OnNobodyListens(MonotonicTime now);
  // Anything else.
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

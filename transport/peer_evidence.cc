#include "understudy/transport/peer_evidence.h"

#include "understudy/actors/clock.h"

namespace understudy::internal {

void PeerEvidence::OnCarried(bool has_address, bool has_process) {
  *this = PeerEvidence();
  has_address_ = has_address;
  if (has_process) process_ = Process::kLives;
}

void PeerEvidence::OnBroken(MonotonicTime now) {
  carried_ = false;
  if (MayDial()) dial_at_ = now;
}

void PeerEvidence::OnProcessEnded() {
  process_ = Process::kEnded;
  dial_at_ = MonotonicTime::InfiniteFuture();
}

void PeerEvidence::OnNobodyListens(MonotonicTime now) {
  if (!MayDial()) return;
  ++refusals_;
  if (MayDial()) dial_at_ = now + kBetweenDials;
}

void PeerEvidence::OnDialProvedNothing(MonotonicTime now) {
  refusals_ = 0;
  if (MayDial()) dial_at_ = now + kDialsAgainAfter;
}

}  // namespace understudy::internal

#include "understudy/transport/sockets/peer_evidence.h"

#include "understudy/actors/clock.h"
#include "understudy/actors/fault_point.h"

namespace understudy::internal {
namespace {

// Each of these fault points switches off one rule, so that tests can show that the rule is needed.
FaultPoint kNeedsOneRefusal("evidence_needs_one_refusal");
FaultPoint kKeepsRefusals("evidence_keeps_refusals_before_an_answer");
FaultPoint kBelievesRefusals("evidence_believes_refusals_of_a_living_process");
FaultPoint kIsKept("evidence_is_kept_when_a_stream_carries");
FaultPoint kCountsWhileCarried("evidence_counts_while_a_stream_carries");
FaultPoint kDialsOnce("evidence_dials_once");

}  // namespace

bool PeerEvidence::is_proved() const {
  if (carried_ && !kCountsWhileCarried.armed()) return false;
  return process_ == Process::kEnded || refusals_ >= (kNeedsOneRefusal.armed() ? 1 : 2);
}

bool PeerEvidence::MayDial() const {
  if (process_ != Process::kUnknown && !kBelievesRefusals.armed()) return false;
  return !carried_ && has_address_ && !is_proved();
}

void PeerEvidence::OnCarried(bool has_address, bool has_process) {
  const int refusals = refusals_;
  *this = PeerEvidence();
  if (kIsKept.armed()) refusals_ = refusals;
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
  if (MayDial() && !kDialsOnce.armed()) dial_at_ = now + kBetweenDials;
}

void PeerEvidence::OnDialProvedNothing(MonotonicTime now) {
  if (!kKeepsRefusals.armed()) refusals_ = 0;
  if (MayDial()) dial_at_ = now + kDialsAgainAfter;
}

}  // namespace understudy::internal

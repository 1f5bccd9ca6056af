#include "understudy/transport/gateway/client_waits.h"

#include <grpcpp/alarm.h>
#include <grpcpp/server_context.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/grpc/grpc_queue.h"
#include "understudy/transport/grpc/grpc_time.h"

namespace understudy::internal {

uint64_t ClientWaits::Begin(grpc::ServerContextBase* context) {
  absl::MutexLock lock(&mu_);
  const uint64_t wait = ++last_;
  if (is_stopped_) return wait;
  waits_.emplace_hint(waits_.end(), wait, Wait{.context = context, .until = Clock::Real().Now() + limit_});
  if (alarm_ == nullptr) SetAlarm();
  return wait;
}

void ClientWaits::End(uint64_t wait) {
  absl::MutexLock lock(&mu_);
  waits_.erase(wait);
}

void ClientWaits::SetAlarm() {
  if (waits_.empty()) return;
  const absl::Duration left = std::max(waits_.begin()->second.until - Clock::Real().Now(), absl::ZeroDuration());
  alarm_ = std::make_unique<grpc::Alarm>();
  alarm_->Set(ProcessQueue(), GrpcDeadlineIn(left), HandOver(&expiry_));
}

void ClientWaits::CancelExpired() {
  absl::MutexLock lock(&mu_);
  alarm_ = nullptr;
  if (is_stopped_) return;
  const MonotonicTime now = Clock::Real().Now();
  while (!waits_.empty() && waits_.begin()->second.until <= now) {
    // Under the lock, because without it the wait, and with it the call, could end meanwhile. gRPC tells of what this
    // ends on the queue only, so nothing here is called from within.
    waits_.begin()->second.context->TryCancel();
    waits_.erase(waits_.begin());
  }
  SetAlarm();
}

void ClientWaits::Stop() {
  absl::MutexLock lock(&mu_);
  is_stopped_ = true;
  waits_.clear();
  if (alarm_ != nullptr) alarm_->Cancel();
  mu_.Await(absl::Condition(this, &ClientWaits::HasNoAlarm));
}

}  // namespace understudy::internal

// ClientWaits: the calls of a gateway that wait for their client: until it has sent the request, or until it has taken
// the end of the call. A call that waits longer than the limit is cancelled, so that a client that sends or reads
// nothing does not keep the call's place and memory.
//
// All waits have the same limit, so they end in the order in which they begin, and one alarm is enough.
//
// Threads: any, but Stop on a plain thread. Lifetime: Stop must be called before the destructor. From the end of Stop
// on no call is cancelled.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_CLIENT_WAITS_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_CLIENT_WAITS_H_

#include <grpcpp/alarm.h>
#include <grpcpp/server_context.h>

#include <cstdint>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/grpc/grpc_queue.h"

namespace understudy::internal {

class ClientWaits {
 public:
  ClientWaits() = default;
  ClientWaits(const ClientWaits&) = delete;
  ClientWaits& operator=(const ClientWaits&) = delete;

  // Sets the limit. Call before the first wait.
  void set_limit(absl::Duration limit) { limit_ = limit; }

  // The call of `context`, which must outlive the wait, begins to wait. Returns the wait's number, which is not 0.
  uint64_t Begin(grpc::ServerContextBase* context);
  // The wait is over. Does nothing if its call was cancelled.
  void End(uint64_t wait);

  // Forgets the waits, and returns when no alarm is left. Waits that begin later are not limited.
  void Stop();

 private:
  struct Wait {
    grpc::ServerContextBase* context = nullptr;
    MonotonicTime until;
  };
  class Expiry final : public GrpcTag {
   public:
    explicit Expiry(ClientWaits& waits) : waits_(waits) {}
    void Done(bool) override { waits_.CancelExpired(); }

   private:
    ClientWaits& waits_;
  };

  // The alarm has gone off.
  void CancelExpired();
  // Sets the alarm for the first wait, if there is one.
  void SetAlarm() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasNoAlarm() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return alarm_ == nullptr; }

  absl::Duration limit_ = absl::InfiniteDuration();
  Expiry expiry_{*this};
  absl::Mutex mu_;
  std::map<uint64_t, Wait> waits_ ABSL_GUARDED_BY(mu_);  // by their numbers, and so by their ends
  uint64_t last_ ABSL_GUARDED_BY(mu_) = 0;
  std::unique_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mu_);  // null if none is set
  bool is_stopped_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_CLIENT_WAITS_H_

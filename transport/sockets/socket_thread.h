// SocketThread: the one thread of a process that waits for sockets and pidfds
// that are not gRPC's: listening sockets, the ends of accepted connections, the
// ends of peers' processes, and dials that only test whether a peer still listens.
// It never polls gRPC.
//
// Threads: any may call. Callbacks run on the SocketThread, one at a time, without its
// lock, and must not block. If another thread calls Forget, a callback may still be running
// when Forget returns, so a callback must hold the objects that it uses, or a weak reference
// to them.
// Lifetime: Process() is never destroyed.
#ifndef UNDERSTUDY_TRANSPORT_SOCKETS_SOCKET_THREAD_H_
#define UNDERSTUDY_TRANSPORT_SOCKETS_SOCKET_THREAD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {

// `within` as poll and epoll_wait take it: in milliseconds, rounded up, at least 0 and at most INT_MAX (24 days).
int PollTimeout(absl::Duration within);

class SocketThread {
 public:
  using Ready = std::function<void(uint32_t events)>;

  static SocketThread& Process();

  // Calls `ready` as long as the descriptor has one of `events` (EPOLLIN, EPOLLOUT, …) or
  // EPOLLHUP or EPOLLERR (level-triggered), until Forget. Returns the number of the watch.
  // ResourceExhausted: the kernel cannot watch it.
  [[nodiscard]] absl::StatusOr<uint64_t> Watch(int descriptor, uint32_t events, Ready ready);
  // Ends a watch. Call it before the descriptor is closed, because a duplicate of the
  // descriptor would keep the kernel's watch alive.
  void Forget(uint64_t watch);
  // Calls `callback` once at or soon after `time`.
  void RunAt(MonotonicTime time, absl::AnyInvocable<void()> callback);

 private:
  struct Watched {
    int descriptor;
    Ready ready;
  };

  SocketThread();
  void Run();
  void RunDue();

  const int epoll_;
  const int wake_;  // an eventfd, watched as number 0
  absl::Mutex mu_;
  uint64_t last_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, std::shared_ptr<Watched>> watched_ ABSL_GUARDED_BY(mu_);
  std::map<std::pair<MonotonicTime, uint64_t>, absl::AnyInvocable<void()>> due_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SOCKETS_SOCKET_THREAD_H_

#include "understudy/transport/node_run.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <functional>

#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/exit_reason.h"

namespace understudy::internal {
namespace {

int NewEvent() {
  const int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  UNDERSTUDY_CHECK(event >= 0, "eventfd: ", strerror(errno));
  return event;
}

// The signal handler uses only these; lock-free atomics are safe in a signal handler.
std::atomic<int> event_to_write{-1};
std::atomic<int> signals_seen{0};
static_assert(std::atomic<int>::is_always_lock_free);

void OnSignal(int number) {
  if (signals_seen.fetch_add(1, std::memory_order_relaxed) > 0) _exit(128 + number);
  const int saved = errno;
  const uint64_t one = 1;
  // write fails only if the eventfd is readable already, so its result is of no interest.
  if (write(event_to_write.load(std::memory_order_relaxed), &one, sizeof(one)) < 0) {
  }
  errno = saved;
}

// SIGTERM and SIGINT as a descriptor to wait for, which the first of them makes readable. Constructed and destroyed on
// the same thread. The destructor restores the earlier signal actions and that thread's mask.
class StopSignals {
 public:
  StopSignals() : event_(NewEvent()) {
    const int before = event_to_write.exchange(event_, std::memory_order_relaxed);
    UNDERSTUDY_CHECK(before < 0, "two nodes of one process wait for its signals");
    signals_seen.store(0, std::memory_order_relaxed);
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = OnSignal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, &before_terminate_);
    sigaction(SIGINT, &action, &before_interrupt_);
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGTERM);
    sigaddset(&both, SIGINT);
    pthread_sigmask(SIG_UNBLOCK, &both, &blocked_before_);
  }
  ~StopSignals() {
    pthread_sigmask(SIG_SETMASK, &blocked_before_, nullptr);
    sigaction(SIGTERM, &before_terminate_, nullptr);
    sigaction(SIGINT, &before_interrupt_, nullptr);
    event_to_write.store(-1, std::memory_order_relaxed);
    close(event_);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  int descriptor() const { return event_; }

 private:
  const int event_;
  struct sigaction before_terminate_;
  struct sigaction before_interrupt_;
  sigset_t blocked_before_;
};

}  // namespace

NodeRun::NodeRun() : requested_(NewEvent()) {}

NodeRun::~NodeRun() { close(requested_); }

void NodeRun::RequestEnd() { eventfd_write(requested_, 1); }

void NodeRun::OnTreeEnded(const ExitReason& reason) {
  if (reason.is_abnormal()) {
    absl::MutexLock lock(&tree_mu_);
    tree_failed_ = reason;
  }
  RequestEnd();
}

int NodeRun::Run(const std::function<void()>& begin,
                 const std::function<int(const absl::optional<ExitReason>& tree_failed)>& end) {
  const StopSignals signals;
  begin();
  std::array<pollfd, 2> wait = {{{.fd = requested_, .events = POLLIN, .revents = 0},
                                 {.fd = signals.descriptor(), .events = POLLIN, .revents = 0}}};
  while (poll(wait.data(), wait.size(), -1) <= 0) continue;
  absl::optional<ExitReason> tree_failed;
  {
    absl::MutexLock lock(&tree_mu_);
    tree_failed = tree_failed_;
  }
  return end(tree_failed);
}

}  // namespace understudy::internal

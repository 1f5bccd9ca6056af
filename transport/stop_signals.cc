#include "understudy/transport/stop_signals.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "understudy/actors/check.h"

namespace understudy::internal {
namespace {

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

}  // namespace

StopSignals::StopSignals() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  UNDERSTUDY_CHECK(event_ >= 0, "eventfd: ", strerror(errno));
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

StopSignals::~StopSignals() {
  pthread_sigmask(SIG_SETMASK, &blocked_before_, nullptr);
  sigaction(SIGTERM, &before_terminate_, nullptr);
  sigaction(SIGINT, &before_interrupt_, nullptr);
  event_to_write.store(-1, std::memory_order_relaxed);
  close(event_);
}

}  // namespace understudy::internal

#include "understudy/examples/auction/interrupt.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <functional>
#include <utility>

#include "understudy/actors/check.h"

namespace auction {
namespace {

// An eventfd that is readable after a SIGPIPE. It is never closed, because the handler stays installed.
int pipe_fd = -1;

void PipeBroken(int) {
  const int error = errno;
  const uint64_t one = 1;
  (void)!write(pipe_fd, &one, sizeof(one));
  errno = error;
}

void AwaitSignal(int signal_fd, int stop_fd, const std::function<void(int)>& handler) {
  while (true) {
    pollfd watched[] = {{.fd = signal_fd, .events = POLLIN, .revents = 0},
                        {.fd = stop_fd, .events = POLLIN, .revents = 0},
                        {.fd = pipe_fd, .events = POLLIN, .revents = 0}};
    if (poll(watched, 3, -1) < 0) continue;  // EINTR
    signalfd_siginfo info;
    if (watched[0].revents != 0 && read(signal_fd, &info, sizeof(info)) == sizeof(info)) {
      handler(static_cast<int>(info.ssi_signo));
      return;
    }
    if (watched[2].revents != 0) {
      handler(SIGPIPE);
      return;
    }
    if (watched[1].revents != 0) return;
  }
}

}  // namespace

Interrupt::Interrupt(std::function<void(int signal)> handler) : stop_fd_(eventfd(0, EFD_CLOEXEC)) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&signals, signal);
  UNDERSTUDY_CHECK(pthread_sigmask(SIG_BLOCK, &signals, nullptr) == 0, "cannot block signals");
  const int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
  pipe_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  UNDERSTUDY_CHECK(stop_fd_ >= 0 && signal_fd >= 0 && pipe_fd >= 0, "no descriptors for signals");
  UNDERSTUDY_CHECK(signal(SIGPIPE, &PipeBroken) != SIG_ERR, "cannot handle SIGPIPE");
  thread_ = std::thread([signal_fd, stop = stop_fd_, handler = std::move(handler)] {
    AwaitSignal(signal_fd, stop, handler);
    close(signal_fd);
  });
}

Interrupt::~Interrupt() {
  const uint64_t one = 1;
  UNDERSTUDY_CHECK(write(stop_fd_, &one, sizeof(one)) == sizeof(one), "cannot stop the thread of signals");
  thread_.join();
  close(stop_fd_);
}

}  // namespace auction

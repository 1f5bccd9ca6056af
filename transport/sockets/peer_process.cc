#include "understudy/transport/sockets/peer_process.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>

namespace understudy::internal {

std::shared_ptr<const PeerProcess> PeerProcess::Of(int connected) {
  ucred peer;
  socklen_t bytes = sizeof(peer);
  if (getsockopt(connected, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 || peer.pid <= 0) return nullptr;
  // glibc 2.36 declares pidfd_open, but clashes with C++ there; it sets close-on-exec.
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, peer.pid, 0U));
  if (pidfd < 0) return nullptr;
  auto process = std::make_shared<const PeerProcess>(pidfd);
  // If the connection has ended, the number may have been given to another process before the pidfd was opened.
  pollfd hung_up = {.fd = connected, .events = 0, .revents = 0};
  if (poll(&hung_up, 1, 0) != 0) return nullptr;
  return process;
}

PeerProcess::~PeerProcess() { close(pidfd_); }

bool PeerProcess::has_ended() const {
  pollfd ended = {.fd = pidfd_, .events = POLLIN, .revents = 0};
  return poll(&ended, 1, 0) > 0;
}

}  // namespace understudy::internal

// PeerProcess: a pidfd of the process at the other end of a connected Unix socket. The pidfd
// was opened while the connection was open, so the process id cannot have been reused by
// another process. Any thread.
#ifndef UNDERSTUDY_TRANSPORT_SOCKETS_PEER_PROCESS_H_
#define UNDERSTUDY_TRANSPORT_SOCKETS_PEER_PROCESS_H_

#include <memory>

namespace understudy::internal {

class PeerProcess {
 public:
  // Returns the process at the other end of `connected`, or null if the kernel does not tell
  // it: the process has ended, or is in another pid namespace. Not for socketpairs, where
  // the kernel names the process that made the pair.
  static std::shared_ptr<const PeerProcess> Of(int connected);

  explicit PeerProcess(int pidfd) : pidfd_(pidfd) {}
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  // Readable when the process has ended.
  int descriptor() const { return pidfd_; }
  bool has_ended() const;

 private:
  const int pidfd_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SOCKETS_PEER_PROCESS_H_

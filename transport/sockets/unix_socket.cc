#include "understudy/transport/sockets/unix_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace understudy::internal {
namespace {

constexpr int kUnixBacklog = 128;
constexpr int kLockTries = 1000;  // a millisecond each

absl::StatusOr<sockaddr_un> Address(const std::string& path) {
  sockaddr_un address;
  memset(&address, 0, sizeof(address));
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' cannot be the path of a socket: expected 1 to ",
                                                   sizeof(address.sun_path) - 1, " bytes"));
  }
  memcpy(address.sun_path, path.data(), path.size());
  return address;
}

absl::StatusOr<int> NewSocket() {
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return absl::ResourceExhaustedError(absl::StrCat("socket: ", strerror(errno)));
  return made;
}

// True if `path` is a socket file on which no process listens any more.
bool IsLeftBehind(const std::string& path) {
  struct stat file;
  if (lstat(path.c_str(), &file) != 0 || !S_ISSOCK(file.st_mode)) return false;
  absl::StatusOr<sockaddr_un> address = Address(path);
  absl::StatusOr<int> probe = NewSocket();
  if (!address.ok() || !probe.ok()) return false;
  const int result = connect(*probe, reinterpret_cast<const sockaddr*>(&*address), sizeof(*address));
  const bool refused = result != 0 && errno == ECONNREFUSED;
  close(*probe);
  return refused;
}

// Serializes ListenUnix of several processes in one folder. Without it a process could replace a socket file that
// another has just bound and does not listen on yet.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    descriptor_ = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    // Gives up after a while, because another user who may read the folder could hold the lock for ever.
    for (int i = 0; i < kLockTries && descriptor_ >= 0 && flock(descriptor_, LOCK_EX | LOCK_NB) != 0; ++i) {
      poll(nullptr, 0, 1);
    }
  }
  ~FolderLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace

absl::StatusOr<int> ListenUnix(const std::string& path) {
  absl::StatusOr<sockaddr_un> address = Address(path);
  if (!address.ok()) return address.status();
  absl::StatusOr<int> listening = NewSocket();
  if (!listening.ok()) return listening.status();
  const FolderLock lock(path);
  if (IsLeftBehind(path)) unlink(path.c_str());
  if (bind(*listening, reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) == 0 &&
      listen(*listening, kUnixBacklog) == 0) {
    return listening;
  }
  const int error = errno;
  close(*listening);
  const std::string what = absl::StrCat("cannot listen on unix:", path, ": ", strerror(error));
  if (error == EADDRINUSE) return absl::AlreadyExistsError(what);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(what);
  return absl::FailedPreconditionError(what);
}

absl::StatusOr<int> ConnectUnix(const std::string& path, unsigned uid) {
  absl::StatusOr<sockaddr_un> address = Address(path);
  if (!address.ok()) return address.status();
  absl::StatusOr<int> connected = NewSocket();
  if (!connected.ok()) return connected.status();
  // Binding to an empty address makes the kernel choose a unique one (autobind).
  const sockaddr_un any = {.sun_family = AF_UNIX, .sun_path = {}};
  if (bind(*connected, reinterpret_cast<const sockaddr*>(&any), sizeof(any.sun_family)) != 0) {
    const int error = errno;
    close(*connected);
    return absl::ResourceExhaustedError(absl::StrCat("cannot bind a Unix socket: ", strerror(error)));
  }
  if (connect(*connected, reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)) != 0) {
    const int error = errno;
    close(*connected);
    return absl::UnavailableError(absl::StrCat("cannot connect to unix:", path, ": ", strerror(error)));
  }
  absl::Status same_user = CheckPeerUid(*connected, uid);
  if (same_user.ok()) return connected;
  close(*connected);
  return same_user;
}

absl::Status CheckPeerUid(int descriptor, unsigned uid) {
  ucred peer;
  socklen_t bytes = sizeof(peer);
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) {
    return absl::PermissionDeniedError(absl::StrCat("the peer's user is not known: ", strerror(errno)));
  }
  if (peer.uid == uid) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("the peer runs as user ", peer.uid, "; a Unix socket of a node is for user ", uid, " only"));
}

absl::StatusOr<std::pair<int, int>> SocketPair() {
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("socketpair: ", strerror(errno)));
  }
  return std::make_pair(ends[0], ends[1]);
}

absl::Status Adopt(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0 || fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot use descriptor ", descriptor, " as a stream: ", strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace understudy::internal

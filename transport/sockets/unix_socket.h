// Unix sockets whose two ends belong to one user.
//
// Descriptors are close-on-exec and non-blocking, and the caller's. Any thread.
#ifndef UNDERSTUDY_TRANSPORT_SOCKETS_UNIX_SOCKET_H_
#define UNDERSTUDY_TRANSPORT_SOCKETS_UNIX_SOCKET_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace understudy::internal {

// A listening socket at `path`. A socket file that nobody listens on any more is
// replaced; AlreadyExists when somebody does, or when the file is no socket.
[[nodiscard]] absl::StatusOr<int> ListenUnix(const std::string& path);

// A connection to `path`, whose owner is this user. Its own end has an address
// that no other socket of the machine has, by which the listener knows it.
[[nodiscard]] absl::StatusOr<int> ConnectUnix(const std::string& path);

// OK when the process at the other end of `descriptor` runs as `uid`, else
// PermissionDenied.
[[nodiscard]] absl::Status CheckPeerUid(int descriptor, unsigned uid);

// Two connected ends.
[[nodiscard]] absl::StatusOr<std::pair<int, int>> SocketPair();

// Makes a descriptor of someone else's close-on-exec and non-blocking.
[[nodiscard]] absl::Status Adopt(int descriptor);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SOCKETS_UNIX_SOCKET_H_

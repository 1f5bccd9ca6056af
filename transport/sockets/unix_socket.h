// Unix sockets whose two ends belong to one user.
//
// Descriptors that these functions return are close-on-exec and non-blocking, and the caller
// owns them. Any thread.
#ifndef UNDERSTUDY_TRANSPORT_SOCKETS_UNIX_SOCKET_H_
#define UNDERSTUDY_TRANSPORT_SOCKETS_UNIX_SOCKET_H_

#include <unistd.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace understudy::internal {

// Returns a listening socket at `path`. A socket file on which no process listens any more
// is replaced. AlreadyExists: a process listens on it, or the file is not a socket.
[[nodiscard]] absl::StatusOr<int> ListenUnix(const std::string& path);

// Returns a connection to `path`. PermissionDenied: the listener is not a process of user `uid`. This end of the
// connection has a unique address, by which the listener identifies the connection.
[[nodiscard]] absl::StatusOr<int> ConnectUnix(const std::string& path, unsigned uid = geteuid());

// Returns PermissionDenied unless the process at the other end of `descriptor` runs as
// `uid`.
[[nodiscard]] absl::Status CheckPeerUid(int descriptor, unsigned uid);

// Returns the two ends of a connected pair.
[[nodiscard]] absl::StatusOr<std::pair<int, int>> SocketPair();

// Makes a descriptor that was inherited or given close-on-exec and non-blocking.
[[nodiscard]] absl::Status Adopt(int descriptor);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SOCKETS_UNIX_SOCKET_H_

// Which addresses a node may dial, and it and its process children may listen on.
#ifndef UNDERSTUDY_TRANSPORT_SOCKETS_LISTEN_RULES_H_
#define UNDERSTUDY_TRANSPORT_SOCKETS_LISTEN_RULES_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "understudy/transport/credentials.h"

namespace understudy::internal {

// OK when the node may dial `address`.
[[nodiscard]] absl::Status CheckDialling(const Credentials& credentials, absl::string_view address);

// OK when a node called `self` may have those peers, node name to address. InvalidArgument
// or FailedPrecondition for a name or an address; ResourceExhausted for too many.
[[nodiscard]] absl::Status CheckPeers(const Credentials& credentials, absl::string_view self,
                                      const std::map<std::string, std::string>& peers);

// InvalidArgument when `listen` means every address of the machine and `advertise`,
// which peers could dial in its place, is empty.
[[nodiscard]] absl::Status CheckListening(absl::string_view listen, absl::string_view advertise);

// InvalidArgument unless `advertise` is empty, or an address that peers can dial.
[[nodiscard]] absl::Status CheckAdvertising(absl::string_view advertise);

// InvalidArgument unless `listen`, of process children, is empty or a TCP address of
// a node with TLS.
[[nodiscard]] absl::Status CheckChildrenListening(const Credentials& credentials, absl::string_view listen);

// Where a node listens, and its process children do.
struct ListeningOptions {
  absl::string_view listen;
  absl::string_view advertise;
  absl::string_view children_listen;
  bool is_process_child = false;  // then `listen` is what its parent has given it
};
// The first of the above that `options` break, or that the files of `credentials` cannot be used.
[[nodiscard]] absl::Status CheckSockets(const Credentials& credentials, const ListeningOptions& options);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SOCKETS_LISTEN_RULES_H_

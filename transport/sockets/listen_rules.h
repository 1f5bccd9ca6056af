// Checks of the addresses that a node may dial, and on which the node and its process
// children may listen.
#ifndef UNDERSTUDY_TRANSPORT_SOCKETS_LISTEN_RULES_H_
#define UNDERSTUDY_TRANSPORT_SOCKETS_LISTEN_RULES_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "understudy/transport/credentials.h"

namespace understudy::internal {

// Returns OK if the node may dial `address`, else InvalidArgument or FailedPrecondition.
[[nodiscard]] absl::Status CheckDialling(const Credentials& credentials, absl::string_view address);

// Returns OK if a node named `self` may have `peers` (node name to address).
// InvalidArgument or FailedPrecondition: a name or an address is not allowed.
// ResourceExhausted: too many peers.
[[nodiscard]] absl::Status CheckPeers(const Credentials& credentials, absl::string_view self,
                                      const std::map<std::string, std::string>& peers);

// InvalidArgument if `listen` stands for every address of the machine and `advertise`,
// which peers could dial in its place, is empty.
[[nodiscard]] absl::Status CheckListening(absl::string_view listen, absl::string_view advertise);

// InvalidArgument unless `advertise` is empty, or an address that peers can dial.
[[nodiscard]] absl::Status CheckAdvertising(absl::string_view advertise);

// `listen` is NodeOptions::children_listen. InvalidArgument unless it is empty, or a TCP
// address and `credentials` have TLS.
[[nodiscard]] absl::Status CheckChildrenListening(const Credentials& credentials, absl::string_view listen);

// The addresses at which a node and its process children listen.
struct ListeningOptions {
  absl::string_view listen;
  absl::string_view advertise;
  absl::string_view children_listen;
  bool is_process_child = false;  // if true, `listen` is the address that the parent has given to this process
};
// Returns the first error of the checks above for `options`, or of the files of `credentials`, which are node `self`'s.
[[nodiscard]] absl::Status CheckSockets(const Credentials& credentials, absl::string_view self,
                                        const ListeningOptions& options);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_SOCKETS_LISTEN_RULES_H_

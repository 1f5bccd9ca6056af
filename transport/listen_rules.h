// Which addresses a node may dial, and it and its process children may listen on.
#ifndef UNDERSTUDY_TRANSPORT_LISTEN_RULES_H_
#define UNDERSTUDY_TRANSPORT_LISTEN_RULES_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "understudy/transport/credentials.h"

namespace understudy::internal {

// OK when the node may dial `address`.
[[nodiscard]] absl::Status CheckDialling(const Credentials& credentials, absl::string_view address);

// InvalidArgument when `listen` means every address of the machine and `advertise`,
// which peers could dial in its place, is empty.
[[nodiscard]] absl::Status CheckListening(absl::string_view listen, absl::string_view advertise);

// InvalidArgument unless `listen`, of process children, is empty or a TCP address of
// a node with TLS.
[[nodiscard]] absl::Status CheckChildrenListening(const Credentials& credentials, absl::string_view listen);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_LISTEN_RULES_H_

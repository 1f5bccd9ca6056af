#include "understudy/transport/sockets/listen_rules.h"

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/limits.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/credentials.h"

namespace understudy::internal {
namespace {

bool CanBeDialled(const NodeAddress& address) {
  return address.reach == NodeAddress::Reach::kUnixSocket || (!address.is_wildcard() && address.port != 0);
}

}  // namespace

absl::Status CheckDialling(const Credentials& credentials, absl::string_view address) {
  const absl::StatusOr<NodeAddress> parsed = NodeAddress::Parse(address);
  if (!parsed.ok()) return parsed.status();
  if (!CanBeDialled(*parsed)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot dial ", address, ": expected a host and its port, such as ledger.example:7000"));
  }
  return CheckAllowed(credentials, *parsed, "dial");
}

absl::Status CheckPeers(const Credentials& credentials, absl::string_view self,
                        const std::map<std::string, std::string>& peers) {
  // One slot is left for the parent of a process child, which is a peer too.
  if (peers.size() >= limits::kPeersMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("NodeOptions::peers has ", peers.size(), " nodes: expected at most ", limits::kPeersMax - 1));
  }
  for (const auto& [node, address] : peers) {
    if (absl::Status named = ValidateNodeName(node); !named.ok()) return named;
    if (node == self) {
      return absl::InvalidArgumentError(
          absl::StrCat("NodeOptions::peers has node ", node, ", which is this node: expected other nodes only"));
    }
    if (absl::Status allowed = CheckDialling(credentials, address); !allowed.ok()) return allowed;
  }
  return absl::OkStatus();
}

absl::Status CheckListening(absl::string_view listen, absl::string_view advertise) {
  const absl::StatusOr<NodeAddress> address = NodeAddress::Parse(listen);
  // A malformed address is refused later, by the listener.
  if (!address.ok() || !address->is_wildcard() || !advertise.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("listening on ", listen, " without NodeOptions::advertise: no peer can dial ", address->host,
                   "; set advertise to the address at which peers reach this node, such as ledger.example:7000"));
}

absl::Status CheckAdvertising(absl::string_view advertise) {
  if (advertise.empty()) return absl::OkStatus();
  if (advertise.size() > limits::kMailboxNameBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("NodeOptions::advertise has ", advertise.size(), " bytes: at most ",
                                                   limits::kMailboxNameBytesMax, " are allowed"));
  }
  const absl::StatusOr<NodeAddress> address = NodeAddress::Parse(advertise);
  if (!address.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("NodeOptions::advertise: ", address.status().message()));
  }
  if (CanBeDialled(*address)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("NodeOptions::advertise is ", advertise,
                   ", which no peer can dial: expected a host and its port, such as ledger.example:7000"));
}

absl::Status CheckChildrenListening(const Credentials& credentials, absl::string_view listen) {
  if (listen.empty()) return absl::OkStatus();
  const absl::StatusOr<NodeAddress> address = NodeAddress::Parse(listen);
  if (!address.ok()) return address.status();
  if (credentials.tls.has_value() && address->reach != NodeAddress::Reach::kUnixSocket) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("NodeOptions::children_listen is ", listen,
                   ": expected a TCP address, such as 127.0.0.1:0, of a node with TLS credentials, or nothing, which "
                   "means Unix sockets"));
}

absl::Status CheckSockets(const Credentials& credentials, absl::string_view self, const ListeningOptions& options) {
  absl::Status valid = credentials.CheckForNode(self);
  if (valid.ok()) valid = CheckListening(options.listen, options.advertise);
  if (valid.ok()) valid = CheckAdvertising(options.advertise);
  if (valid.ok()) valid = CheckChildrenListening(credentials, options.children_listen);
  if (valid.ok() && options.is_process_child && !absl::StartsWith(options.listen, "unix:")) {
    valid = CheckChildrenListening(credentials, options.listen);
  }
  return valid;
}

}  // namespace understudy::internal

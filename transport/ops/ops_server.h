// OpsServer: the gRPC side of the operator's service: a listening socket, one thread, calls by name.
//
// The thread waits for connections itself and polls gRPC only while a connection stands, so an idle server takes no
// events from the nodes' queue. The same thread runs all methods, one at a time, so a method must not wait: what is not
// known at once comes from an OpsFeed. This class knows only bytes; OpsMethods parses and serializes.
//
// Only this file's source includes gRPC's headers. Threads: any. Lifetime: the methods must stay valid until the
// destructor returns.
#ifndef UNDERSTUDY_TRANSPORT_OPS_OPS_SERVER_H_
#define UNDERSTUDY_TRANSPORT_OPS_OPS_SERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy::internal {

// The entries of a stream for one reader; or the one answer of a method that cannot give it at once, so that other
// callers do not wait for it.
struct OpsFeed {
  std::function<absl::optional<std::string>()> next;  // the next entry; nullopt: none yet
  // Called when `next` has no entry. Returns the status with which the call ends, or
  // nullopt if the call goes on.
  std::function<absl::optional<absl::Status>()> ends;
  // If it is set and returns true, `next` has work left that takes several calls, and is called again as soon as other
  // callers have been served. Else it is called every limits::kOpsLooksEvery.
  std::function<bool()> is_busy = nullptr;
};

// The methods by their path, such as "/understudy.proto.Ops/GetNode". Requests and answers are serialized messages.
// `caller` is what the connection proves: a process of this user, a certificate, or nothing.
struct OpsMethods {
  std::map<std::string,
           std::function<absl::StatusOr<std::string>(const StreamIdentity& caller, const std::string& request)>>
      unary;
  std::map<std::string,
           std::function<absl::StatusOr<OpsFeed>(const StreamIdentity& caller, const std::string& request)>>
      feeds;
};

class OpsServer {
 public:
  struct Options {
    NodeAddress address;
    Credentials credentials;  // for TCP: mutual TLS, if they have it
    unsigned uid = 0;         // of the processes that may connect to a Unix socket
  };

  // Listens. A Unix socket gets mode 0600. `warn` is told, on the server's thread and at most once a second, why a
  // connection was refused or a reply given up (limits::kOpsUnreadBytesMax). Errors: as OpenListeningSocket;
  // PermissionDenied: the mode cannot be set.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<OpsServer>> Start(const Options& options, OpsMethods methods,
                                                                        std::function<void(absl::string_view)> warn);

  // With the actual port.
  const NodeAddress& address() const;

  // Ends all calls and connections, and removes the socket file.
  ~OpsServer();
  OpsServer(const OpsServer&) = delete;
  OpsServer& operator=(const OpsServer&) = delete;

 private:
  class Loop;
  explicit OpsServer(std::unique_ptr<Loop> loop);

  const std::unique_ptr<Loop> loop_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_OPS_OPS_SERVER_H_

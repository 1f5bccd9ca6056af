// HttpServer: answers GET and HEAD for a few fixed paths, over libmicrohttpd, on one thread of its own.
//
// Guarantees: other paths are answered 404, other methods 405. At most limits::kMetricsConnectionsMax connections
// stand at once and each ends after limits::kMetricsConnectionWithin, so a slow client delays no other and holds little
// memory. A connection is one request. With TLS, the files are read again within some seconds of a change.
// Only this file's source includes microhttpd.h. The library was chosen over civetweb because Debian 12's civetweb
// cannot load OpenSSL 3, so it serves no TLS, and because one thread serves all clients, where civetweb needs a thread
// for each.
// Threads: any. Lifetime: the pages run on the server's thread, one at a time, until the destructor has returned.
#ifndef UNDERSTUDY_TRANSPORT_METRICS_HTTP_SERVER_H_
#define UNDERSTUDY_TRANSPORT_METRICS_HTTP_SERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "understudy/transport/credentials.h"

namespace understudy::internal {

struct HttpAnswer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// The pages by their path, such as "/metrics".
using HttpPages = std::map<std::string, std::function<HttpAnswer()>>;

class HttpServer {
 public:
  // Serves TLS if `credentials` have it; clients need no certificate. Errors: those of OpenListeningSocket and of
  // Credentials::Check; InvalidArgument if the library cannot use the files.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const NodeAddress& address,
                                                                         const Credentials& credentials,
                                                                         HttpPages pages);

  // Ends all connections.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // With the actual port.
  const std::string& address() const;

 private:
  class Loop;
  explicit HttpServer(std::unique_ptr<Loop> loop);

  const std::unique_ptr<Loop> loop_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_METRICS_HTTP_SERVER_H_

// HttpServer: gives the requests that come to one address to a handler, over libmicrohttpd, on one thread of its own.
//
//   HttpServer::Start(*NodeAddress::Parse("127.0.0.1:0"), {}, {.connections_max = 32, …},
//                     [](HttpRequest request, const HttpReplier& replier) { replier.Answer({.body = "hello\n"}); });
//
// Guarantees: a connection is one request. The bounds of HttpBounds hold whatever clients do, so a slow client delays
// no other: a connection beyond the bound takes the place of the oldest that has not sent a request, or of one whose
// answer its client does not read, or waits if all wait for answers; a request that is too large is refused, and one
// that is not over within connection_within loses its connection, unless its answer is a stream. An answer may come
// later, from any thread. A stream (EventStream) ends when its reader has gone, or has taken nothing for
// limits::kHttpStreamStallsMax. With TLS, changed files are served within some seconds: from a moment without
// connections on if there is one within connection_within, else all connections and streams end then. The server judges
// no request: methods, paths, Host, Origin and rights are the handler's. Only the sources of this target include
// microhttpd.h. The library was chosen over civetweb because Debian 12's civetweb cannot load OpenSSL 3, so it serves
// no TLS, and because one thread serves all clients, where civetweb needs a thread for each. Threads: any. Lifetime:
// the handler runs on the server's thread, one request at a time, until the destructor has returned. Repliers and
// streams may outlive the server.
#ifndef UNDERSTUDY_TRANSPORT_HTTP_HTTP_SERVER_H_
#define UNDERSTUDY_TRANSPORT_HTTP_HTTP_SERVER_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/http/http_message.h"

namespace understudy::internal {

struct HttpBounds {
  // At once. Further connections wait in the kernel's queue until one of these ends. For them the oldest is closed that
  // has not sent a request; if all have, the first whose answer has lain unread for limits::kHttpUnreadAnswerKept.
  unsigned connections_max = 1;
  // A connection without a stream ends after this time, however slowly its client sends or reads.
  absl::Duration connection_within;
  // The memory of one connection; the line and the headers of a request must fit into half of it. Body and answer are
  // not counted.
  size_t connection_bytes_max = 0;
  // A larger body is refused with status 413. 0: the handler gets requests without their bodies, which are not read.
  size_t body_bytes_max = 0;
  // How long the handler may take for an answer that is not a stream; then it is status 504.
  absl::Duration answer_within;
  // At once. A further stream is closed, and its request is answered with status 503. It should be less than
  // connections_max, so that there is room for other requests.
  size_t streams_max = 0;
};

class HttpServer {
 public:
  // Serves TLS if `credentials` have it; clients need no certificate. Errors: those of OpenListeningSocket and of
  // Credentials::Check; InvalidArgument if the library cannot use the files.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const NodeAddress& address,
                                                                         const Credentials& credentials,
                                                                         const HttpBounds& bounds, HttpHandler handler);

  // Ends all connections and streams.
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

#endif  // UNDERSTUDY_TRANSPORT_HTTP_HTTP_SERVER_H_

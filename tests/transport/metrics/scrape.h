// Plain HTTP clients for the tests of HttpServer and of the pages that it serves.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_METRICS_SCRAPE_H_
#define UNDERSTUDY_TESTS_TRANSPORT_METRICS_SCRAPE_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace understudy {

// A TCP connection to a server on which a test writes arbitrary bytes.
class RawClient {
 public:
  // `address` is 127.0.0.1:PORT or [::1]:PORT, or 0.0.0.0:PORT for the former.
  explicit RawClient(absl::string_view address)
      : socket_(socket(address[0] == '[' ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    int port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port)) << address;
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<uint16_t>(port));
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = v4.sin_port;
    v6.sin6_addr = in6addr_loopback;
    const timeval within = {.tv_sec = 60, .tv_usec = 0};
    EXPECT_EQ(setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &within, sizeof(within)), 0);
    EXPECT_EQ(setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &within, sizeof(within)), 0);
    const int connected = address[0] == '[' ? connect(socket_, reinterpret_cast<const sockaddr*>(&v6), sizeof(v6))
                                            : connect(socket_, reinterpret_cast<const sockaddr*>(&v4), sizeof(v4));
    EXPECT_EQ(connected, 0) << address;
  }
  ~RawClient() { close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // False if the server has closed the connection.
  bool Say(absl::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // Waits until the server closes the connection or sends something, at most for so long.
  bool HearsWithin(int millis) {
    pollfd wait = {.fd = socket_, .events = POLLIN, .revents = 0};
    return poll(&wait, 1, millis) > 0;
  }
  // Everything that comes until the server closes the connection.
  std::string Hear() {
    std::string all;
    std::array<char, 4096> part;
    ssize_t got = 0;
    while ((got = recv(socket_, part.data(), part.size(), 0)) > 0) all.append(part.data(), static_cast<size_t>(got));
    EXPECT_TRUE(got == 0 || errno == ECONNRESET) << "the server has not closed the connection";
    return all;
  }
  // All that has come in calls of this function, once `text` is in it; or after a minute, which is a failure.
  const std::string& HearUntil(absl::string_view text) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    std::array<char, 4096> part;
    ssize_t got = 0;
    while (!absl::StrContains(heard_, text) && std::chrono::steady_clock::now() < deadline &&
           (got = recv(socket_, part.data(), part.size(), 0)) > 0) {
      heard_.append(part.data(), static_cast<size_t>(got));
    }
    EXPECT_TRUE(absl::StrContains(heard_, text)) << "no '" << text << "' in '" << heard_ << "'";
    return heard_;
  }

 private:
  const int socket_;
  std::string heard_;  // by HearUntil
};

struct HttpReply {
  int status = 0;
  std::string headers;
  std::string body;
};

inline HttpReply ParseReply(const std::string& text) {
  HttpReply reply;
  const size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos || !absl::StartsWith(text, "HTTP/1.1 ") || text.size() < 12 ||
      !absl::SimpleAtoi(text.substr(9, 3), &reply.status)) {
    ADD_FAILURE() << "not an answer of HTTP: '" << text << "'";
    return reply;
  }
  reply.headers = text.substr(0, end + 2);
  reply.body = text.substr(end + 4);
  return reply;
}

inline HttpReply Fetch(absl::string_view address, absl::string_view path, absl::string_view method = "GET") {
  RawClient client(address);
  EXPECT_TRUE(client.Say(absl::StrCat(method, " ", path, " HTTP/1.1\r\nHost: ", address, "\r\n\r\n")));
  return ParseReply(client.Hear());
}

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_METRICS_SCRAPE_H_

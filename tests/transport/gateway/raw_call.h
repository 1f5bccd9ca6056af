// RawCall: a client of gRPC that is only bytes on a socket, so that it can break off in ways that gRPC's clients do
// not have.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_GATEWAY_RAW_CALL_H_
#define UNDERSTUDY_TESTS_TRANSPORT_GATEWAY_RAW_CALL_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace understudy {

class RawCall {
 public:
  struct Options {
    // The bytes of answers that the client takes.
    uint32_t window = 65535;
    std::string timeout;  // the value of grpc-timeout; none if empty
  };

  // Calls `path` of the server at `address`, which is "127.0.0.1:PORT".
  RawCall(const std::string& address, absl::string_view path) : RawCall(address, path, Options()) {}
  RawCall(const std::string& address, absl::string_view path, const Options& options)
      : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    const std::vector<std::string> parts = absl::StrSplit(address, ':');
    int port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(parts[1], &port));
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
    // HPACK: POST and http are in its table, and so are the names of the path and the authority; then two literals.
    std::string headers = absl::StrCat("\x83\x86", Literal("\x04", path), Literal("\x01", "test"), std::string(1, '\0'),
                                       Text("content-type"), Text("application/grpc"), std::string(1, '\0'), Text("te"),
                                       Text("trailers"));
    if (!options.timeout.empty()) {
      absl::StrAppend(&headers, std::string(1, '\0'), Text("grpc-timeout"), Text(options.timeout));
    }
    const std::string window = absl::StrCat(Number(kInitialWindow, 2), Number(options.window, 4));
    Say(absl::StrCat("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Frame(kSettings, 0, window, 0),
                     Frame(kHeaders, kEndHeaders, headers)));
  }
  RawCall(const RawCall&) = delete;
  RawCall& operator=(const RawCall&) = delete;
  ~RawCall() { Close(); }

  // The bytes of a message of gRPC, with its length in front.
  static std::string MessageOf(const std::string& bytes) {
    return absl::StrCat(std::string(1, '\0'), Number(bytes.size(), 4), bytes);
  }
  // Sends data.
  void Send(const std::string& data) { Say(Frame(kData, 0, data)); }
  // Sends data, and that it is the last.
  void SendLast(const std::string& data) { Say(Frame(kData, kEndStream, data)); }
  // Resets the call, with a code of HTTP/2.
  void Reset(uint32_t code) { Say(Frame(kReset, 0, Number(code, 4))); }
  // Reads until `text` has come, or the server has closed the connection; returns whether it has come.
  bool Hears(absl::string_view text) {
    char bytes[4096];
    while (!absl::StrContains(heard_, text)) {
      const ssize_t count = recv(socket_, bytes, sizeof(bytes), 0);
      if (count <= 0) return false;
      heard_.append(bytes, static_cast<size_t>(count));
    }
    return true;
  }
  void Close() {
    if (socket_ >= 0) close(std::exchange(socket_, -1));
  }

 private:
  static constexpr uint8_t kData = 0;
  static constexpr uint8_t kHeaders = 1;
  static constexpr uint8_t kReset = 3;
  static constexpr uint8_t kSettings = 4;
  static constexpr uint16_t kInitialWindow = 4;
  static constexpr uint8_t kEndStream = 1;
  static constexpr uint8_t kEndHeaders = 4;

  static std::string Number(size_t value, int bytes) {
    std::string text;
    for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i));
    return text;
  }
  static std::string Frame(uint8_t type, uint8_t flags, const std::string& payload, uint32_t stream = 1) {
    return absl::StrCat(Number(payload.size(), 3), Number(type, 1), Number(flags, 1), Number(stream, 4), payload);
  }
  static std::string Text(absl::string_view text) { return absl::StrCat(Number(text.size(), 1), text); }
  static std::string Literal(absl::string_view name, absl::string_view value) {
    return absl::StrCat(name, Text(value));
  }
  void Say(const std::string& bytes) const {
    EXPECT_EQ(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }

  int socket_;
  std::string heard_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_GATEWAY_RAW_CALL_H_

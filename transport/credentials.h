// Node addresses, and which of them may be used without TLS.
//
//   127.0.0.1:7000   [::1]:7000   localhost:7000   unix:/run/app/ledger.sock
//
// Port 0 of a listening address means a free port. Loopback and Unix sockets
// may be plain; every other address requires mutual TLS. A Unix socket is open
// to processes of the same user only, which both ends check.
// Any thread; values.
#ifndef UNDERSTUDY_TRANSPORT_CREDENTIALS_H_
#define UNDERSTUDY_TRANSPORT_CREDENTIALS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace understudy {

struct NodeAddress {
  enum class Reach {
    kUnixSocket,  // this machine, and it says who is asking
    kLoopback,    // this machine
    kNetwork,     // anybody
  };

  // InvalidArgument says what is wrong with `text`. No name is looked up:
  // "localhost" is 127.0.0.1, and every other name is the network's.
  [[nodiscard]] static absl::StatusOr<NodeAddress> Parse(absl::string_view text);

  // In the form that Parse reads.
  std::string ToString() const;

  Reach reach = Reach::kLoopback;
  std::string path;  // of a Unix socket
  std::string host;  // else; a v6 address without its brackets
  int port = 0;
};

// How nodes prove who they are to each other. TLS is not there yet.
struct Credentials {
  // Plaintext, where the address allows it.
  static Credentials Insecure() { return {}; }
};

// OK, or FailedPrecondition: that address needs TLS. `use` is a word or two for
// the message: "listen on", "dial".
[[nodiscard]] absl::Status CheckAllowed(const Credentials& credentials, const NodeAddress& address,
                                        absl::string_view use);

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CREDENTIALS_H_

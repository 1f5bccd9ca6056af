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
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

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

  // Whether it means every address of the machine, which can be listened on and
  // not dialled.
  bool is_wildcard() const { return host == "0.0.0.0" || host == "::"; }

  // In the form that Parse reads.
  std::string ToString() const;

  Reach reach = Reach::kLoopback;
  std::string path;  // of a Unix socket
  std::string host;  // else; a v6 address without its brackets
  int port = 0;
};

// PEM files with which a node proves its name, and knows others', as
// tools/make_certs writes them. They are read anew when they change.
struct TlsFiles {
  std::string certificate_file;  // the node's: its DNS name (SAN) is the node's name
  std::string key_file;
  std::string ca_file;  // who signs the certificates of all nodes
};

// How nodes prove who they are to each other.
struct Credentials {
  // Plaintext, where the address allows it.
  static Credentials Insecure() { return {}; }
  // Mutual TLS on every TCP connection, on loopback too. Unix sockets stay plain:
  // there the kernel tells whose process it is.
  static Credentials Tls(TlsFiles files) { return {.tls = std::move(files)}; }

  // InvalidArgument names the file that cannot be read, or is no PEM.
  [[nodiscard]] absl::Status Check() const;

  absl::optional<TlsFiles> tls;
};

// OK, or FailedPrecondition: that address needs TLS. `use` is a word or two for
// the message: "listen on", "dial".
[[nodiscard]] absl::Status CheckAllowed(const Credentials& credentials, const NodeAddress& address,
                                        absl::string_view use);

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CREDENTIALS_H_

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
    kUnixSocket,  // processes of this machine, whose user the kernel tells
    kLoopback,    // processes of this machine
    kNetwork,     // any machine that can reach this one
  };

  // InvalidArgument says what is wrong with `text`. Names are not resolved:
  // "localhost" is taken as 127.0.0.1, and every other name has Reach::kNetwork.
  [[nodiscard]] static absl::StatusOr<NodeAddress> Parse(absl::string_view text);

  // True for 0.0.0.0 and [::], which stand for every address of the machine: a node
  // can listen on them, but they cannot be dialled.
  bool is_wildcard() const { return host == "0.0.0.0" || host == "::"; }

  // The address in the form that Parse reads.
  std::string ToString() const;
  // The address as gRPC's clients take it. IP addresses are marked as such, so that gRPC resolves only names.
  std::string ToGrpcTarget() const;

  Reach reach = Reach::kLoopback;
  std::string path;  // the socket's path, for Reach::kUnixSocket
  std::string host;  // for the other kinds; an IPv6 address has no brackets here
  int port = 0;
};

// PEM files with which a node proves its name and verifies the names of others, as
// tools/make_certs writes them. They are reloaded within some seconds of a change. Streams that
// exist are not affected. While the key file and the certificate file do not match, no new stream
// can begin, so rename both new files into place together.
struct TlsFiles {
  std::string certificate_file;  // the node's certificate, whose DNS name (SAN) is the node's name
  std::string key_file;
  std::string ca_file;  // the authority that signs the certificates of all nodes
};

// How nodes prove who they are to each other.
struct Credentials {
  // Plaintext, where the address allows it.
  static Credentials Insecure() { return {}; }
  // Mutual TLS on every TCP connection, on loopback too. Unix sockets stay plain,
  // because there the kernel tells the user of the peer's process.
  static Credentials Tls(TlsFiles files) { return {.tls = std::move(files)}; }

  // InvalidArgument names the file that cannot be read, is not in PEM format, or lacks a
  // certificate or key; or both files if the key does not belong to the certificate.
  [[nodiscard]] absl::Status Check() const;

  // Does the same as Check, for the credentials of the node `node`. InvalidArgument also tells if the certificate has
  // no DNS name (SAN) that is `node`, because every peer would refuse such a certificate.
  [[nodiscard]] absl::Status CheckForNode(absl::string_view node) const;

  absl::optional<TlsFiles> tls;
};

// Returns FailedPrecondition if `address` needs TLS and `credentials` have none. `use`
// is the verb of the error message: "listen on", "dial".
[[nodiscard]] absl::Status CheckAllowed(const Credentials& credentials, const NodeAddress& address,
                                        absl::string_view use);

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CREDENTIALS_H_

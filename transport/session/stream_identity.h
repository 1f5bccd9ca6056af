// StreamIdentity: what a node knows of the process at the other end of a stream,
// before that process says a word. The layer below the session fills it in: from
// the kernel (Unix sockets), from TLS (certificates), or from the way the stream
// was made (a parent and its process child).
//
// A value; any thread.
#ifndef UNDERSTUDY_TRANSPORT_SESSION_STREAM_IDENTITY_H_
#define UNDERSTUDY_TRANSPORT_SESSION_STREAM_IDENTITY_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace understudy {

struct StreamIdentity {
  enum class Proof {
    // Nothing is proved: TCP without TLS, where every process of the machine can claim every name.
    kNone,
    // The process runs as this node's user: a Unix socket. It may be any node of that user.
    kSameUser,
    // The process is this node's parent, at the other end of the inherited socketpair.
    kParent,
    // The process is one that this node started.
    kProcessChild,
    // TLS: the process has the key of a certificate that our CA signed.
    kCertificate,
  };

  static StreamIdentity Unproved() { return {}; }
  static StreamIdentity SameUser() { return {.proof = Proof::kSameUser}; }
  static StreamIdentity Parent(absl::string_view node) {
    return {.proof = Proof::kParent, .names = {std::string(node)}};
  }
  static StreamIdentity ProcessChild(absl::string_view node) {
    return {.proof = Proof::kProcessChild, .names = {std::string(node)}};
  }
  static StreamIdentity Certificate(std::vector<std::string> names) {
    return {.proof = Proof::kCertificate, .names = std::move(names)};
  }

  bool is_proved() const { return proof != Proof::kNone; }

  // Whether the process may speak as the node of that name. An unproved one may
  // claim any name; is_proved() tells whether the claim is worth anything.
  bool MayBe(absl::string_view node) const {
    if (proof == Proof::kNone || proof == Proof::kSameUser) return true;
    return std::find(names.begin(), names.end(), node) != names.end();
  }

  Proof proof = Proof::kNone;
  // The names of nodes that kParent, kProcessChild and kCertificate prove.
  std::vector<std::string> names;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SESSION_STREAM_IDENTITY_H_

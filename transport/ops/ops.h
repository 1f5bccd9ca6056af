// Ops: shows a running system and its node to an operator (actors, stuck handlers, lost messages), and acts for them.
//
//   ActorSystem system({.name = "house"});
//   absl::StatusOr<std::unique_ptr<Node>> node = Node::Start(system, {…});
//   absl::StatusOr<std::unique_ptr<Ops>> ops = Ops::Start(system, {.listen = "unix:/run/house/ops", .node =
//   node->get()});
//
// The service is proto/ops.proto; the program tools/understudy is one client of it.
// Guarantees: a thread of its own answers, also while every worker is stuck in a handler and the system drains. It
// polls gRPC only while a client is connected. A read runs no turn of an actor and slows none (actors/inspection.h,
// supervision/supervisor_looks.h). Dead letters, supervision events and crash reports are kept from the start
// on, the last ops_limits.h::kKeptEntriesMax of each; a reader that is slow loses the oldest and is told how many.
// Crash reports of process children are kept by their parent's service too. Security: a Unix socket has mode 0600, and
// only processes of this user may connect. They may read everything that the service tells, and act as
// OpsOptions::actions says. TCP has mutual TLS: a client may do what the node's grants say for a name of its
// certificate (GrantEntry::ops), and nothing without an entry. On loopback TCP without TLS it may do what
// NodeOptions::insecure_loopback_ops says, which is nothing by default. The contents of messages are shown by a trace
// only, with kTraceContents, and without the fields that options.proto calls redacted. The system's log gets a line
// before each action and one for each refused action, whatever its level; beyond ops_limits.h::kOpsRefusalLinesMax the
// refusals of one caller are counted in one line. Lines about refused reads are limited by site.
//
// Threads: any. Lifetime: this object must be destroyed before the node and before the system.
#ifndef UNDERSTUDY_TRANSPORT_OPS_OPS_H_
#define UNDERSTUDY_TRANSPORT_OPS_OPS_H_

#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/node.h"

namespace understudy {

struct OpsOptions {
  // "unix:/path/to/socket", or "127.0.0.1:7001" with `node` and, beyond loopback, with TLS. A socket file on which no
  // process listens any more is replaced.
  std::string listen;
  // The node of the system, if it has one; without it the service knows no peers and cannot drain.
  Node* node = nullptr;
  // For TCP: the node's own files will do. The certificate's DNS name is what clients expect.
  Credentials credentials;
  // What clients on a Unix socket may do besides kRead. kTraceContents is not included by default.
  std::set<OpsAction> actions = {OpsAction::kStop,    OpsAction::kKill,  OpsAction::kRestart, OpsAction::kDrain,
                                 OpsAction::kSuspend, OpsAction::kTrace, OpsAction::kLogLevel};
};

class Ops {
 public:
  // InvalidArgument: `listen` is not an address, or is TCP and there is no node; or a file of `credentials` is not
  // good. FailedPrecondition: the address needs TLS. AlreadyExists, PermissionDenied, Unavailable: the socket cannot be
  // made.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Ops>> Start(ActorSystem& system, OpsOptions options);

  // The address at which it listens, with the actual port.
  std::string address() const;

  // Ends the calls of clients and removes the socket file.
  ~Ops();
  Ops(const Ops&) = delete;
  Ops& operator=(const Ops&) = delete;

 private:
  class Parts;
  explicit Ops(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_OPS_OPS_H_

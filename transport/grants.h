// Grants: what the peers of a node may do to its actors, and which names of the
// cluster they may publish, in one table.
//
// An operation is allowed either by the kind of proof that the peer gave of its
// identity (stream_identity.h), or by the table's entry for its name. An entry
// counts only for a peer that proved its name by a certificate, or that is a process
// child of this node. Other names could be claimed by every process of the user (on a
// Unix socket) or of the machine (on loopback TCP without TLS).
//
//   who                           may without an entry
//   this node's parent            everything
//   process child, sibling        publish any name
//   same user, by Unix socket     publish any name
//   certificate                   publish names under NODE/
//   loopback TCP without TLS      publish names under NODE/
//
// The name `understudy/KIND/NODE`, and every name below it, may be published by NODE
// only, whatever else is granted. Operations that need no grant (to send to, ask and
// monitor an actor whose address the peer has) are not part of this table.
//
//   absl::StatusOr<Grants> grants = Grants::Make({.entries = {{.node = "ledger", .publish = {"auction/"}}}});
//   if (!grants->Allows(identity, "ledger", Operation::kPublish, "auction/lot-1")) …
//
// Threads: a value, immutable after Make; const functions may be called concurrently.
#ifndef UNDERSTUDY_TRANSPORT_GRANTS_H_
#define UNDERSTUDY_TRANSPORT_GRANTS_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {

enum class Operation {
  kPublish,  // a name of the cluster
  kExit,     // exit signals other than a link's, and requests to stop
  kLink,
  kKill,
  kStart,  // children through this node's child host
};

// "publish", "exit", …
absl::string_view OperationName(Operation operation);

// An action that an operator may be granted through the node's operator's service (ops/ops.h).
enum class OpsAction {
  kStop,           // requests an actor to stop
  kKill,           // kills an actor
  kRestart,        // ends and starts again a child of a supervisor, without counting it as a restart
  kDrain,          // Node::RequestStop: RunTree and RunUntilSignal drain the node and return
  kLogLevel,       // ActorSystem::SetLogLevel
  kSuspend,        // keeps an actor's mailboxes closed for some time (ActorSystem::Suspend), and ends that
  kTrace,          // sees mailbox, type, size, sender and time of the messages of one actor
  kTraceContents,  // with kTrace: sees the messages themselves, which may be secret. No default has it.
  kRead,           // sees all that is not the contents of messages: actors, names, peers, events
};

// "stop", "kill", …
absl::string_view OpsActionName(OpsAction action);

// The grants of one peer, in addition to the defaults.
struct GrantEntry {
  // The name of a node; for `ops`, the DNS name of an operator's certificate.
  std::string node;
  // Names that the peer may publish. A name that ends in '/' stands for every name
  // below it, and "*" for every name.
  std::vector<std::string> publish;
  // Without kPublish, which Make refuses here: `publish` says which names.
  std::set<Operation> operations;
  // The actions that the holder of a certificate with this name may take through the operator's service over TCP.
  std::set<OpsAction> ops;
};

struct GrantTable {
  // At most one entry for each node, and at most limits::kPeersMax entries in all.
  std::vector<GrantEntry> entries;
  // Names of the nodes that are process children of this node's parent, as the parent
  // told this node.
  std::set<std::string> siblings;
  // If true, every peer without a certificate is granted everything. A node that listens
  // on loopback TCP then trusts every process of the machine.
  bool insecure_loopback_grants = false;
  // The actions that every process of the machine may take through an operator's service that listens on loopback TCP
  // without TLS.
  std::set<OpsAction> insecure_loopback_ops;
};

class Grants {
 public:
  // The defaults alone.
  Grants() = default;
  // InvalidArgument names the invalid entry: its node's name is malformed or occurs
  // twice; its operations have kPublish or a number that is no Operation; its ops have
  // a number that is no OpsAction; or it has a malformed name to publish, or too many of these.
  [[nodiscard]] static absl::StatusOr<Grants> Make(const GrantTable& table);

  // True if `name` is reserved (it begins with `understudy/`) and `node` is not the node
  // that may publish it.
  static bool IsReservedForAnother(absl::string_view node, absl::string_view name);

  // Whether the peer named `node`, whose stream proved `identity`, may perform
  // `operation` on this node. `name` is the name to publish; it is not used for other
  // operations.
  bool Allows(const StreamIdentity& identity, absl::string_view node, Operation operation,
              absl::string_view name = "") const;

  // The actions that a client of the operator's service over TCP may take if it has proved `identity`: the actions of
  // all entries for the names of its certificate, or GrantTable::insecure_loopback_ops if it has proved nothing.
  std::set<OpsAction> OpsOf(const StreamIdentity& identity) const;

 private:
  bool EntryAllows(absl::string_view node, Operation operation, absl::string_view name) const;

  std::map<std::string, GrantEntry, std::less<>> entries_;
  std::set<std::string, std::less<>> siblings_;
  bool insecure_loopback_grants_ = false;
  std::set<OpsAction> insecure_loopback_ops_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_GRANTS_H_

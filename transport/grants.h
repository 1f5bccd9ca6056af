// Grants: what the peers of a node may do to its actors, and which names of the
// cluster they may publish, in one table.
//
// A peer is allowed an operation by what is proved of it (stream_identity.h), or
// by the table's entry for its name. An entry counts only for a peer whose name
// is proved, by a certificate or by its parent's word: on a Unix socket every
// process of the user, and on loopback TCP without TLS every process of the
// machine, could claim that name.
//
//   who                           may without an entry
//   this node's parent            everything
//   process child, sibling        publish any name
//   same user, by Unix socket     publish any name
//   certificate                   publish names under NODE/
//   loopback TCP without TLS      publish names under NODE/
//
// A name `understudy/KIND/NODE`, or one below it, belongs to that node alone, whatever
// else is granted. What a peer may do without a grant (send, ask and monitor
// what it holds an address of) is not asked for here.
//
//   absl::StatusOr<Grants> grants = Grants::Make({.entries = {{.node = "ledger", .publish = {"auction/"}}}});
//   if (!grants->Allows(identity, "ledger", Operation::kPublish, "auction/lot-1")) …
//
// Threads: a value; const after it is made.
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

// What one peer is granted beside the defaults.
struct GrantEntry {
  std::string node;
  // Names that it may publish. One that ends in '/' stands for every name below
  // it; "*" for every name.
  std::vector<std::string> publish;
  std::set<Operation> operations;
};

struct GrantTable {
  // At most one entry for a node; at most limits::kPeersMax in all.
  std::vector<GrantEntry> entries;
  // Names of nodes that are process children of this node's parent, as that says.
  std::set<std::string> siblings;
  // Every peer without a certificate is granted everything. Where loopback TCP is
  // listened on, this trusts every process of the machine.
  bool insecure_loopback_grants = false;
};

class Grants {
 public:
  // The defaults alone.
  Grants() = default;
  // InvalidArgument names the bad entry: a node's name that is none or is there
  // twice, a bad name to publish, or too many of them.
  [[nodiscard]] static absl::StatusOr<Grants> Make(const GrantTable& table);

  // Whether the name belongs to another node than `node` alone.
  static bool IsReservedForAnother(absl::string_view node, absl::string_view name);

  // Whether the peer called `node`, of which `identity` is proved, may do that
  // here. `name` is what it would publish, and empty for other operations.
  bool Allows(const StreamIdentity& identity, absl::string_view node, Operation operation,
              absl::string_view name = "") const;

 private:
  bool EntryAllows(absl::string_view node, Operation operation, absl::string_view name) const;

  std::map<std::string, GrantEntry, std::less<>> entries_;
  std::set<std::string, std::less<>> siblings_;
  bool insecure_loopback_grants_ = false;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_GRANTS_H_

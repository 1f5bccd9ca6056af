// Registry: the names that one node knows; NamePublisher: how a name reaches
// the others.
//
// A name is an address for people: at most limits::kNameBytesMax bytes, not
// empty, no control characters. It belongs to one pid. Names of the node
// (RegisteredAs) stay on it; names of the cluster (PublishedAs) are handed to
// the NamePublisher that a transport installs, and those of other nodes are
// put in by it. Lookups read this node's table only.
//
// A dead actor's names are released before its exits and Downs go out.
//
// A supervisor keeps its children's names (NameKeep). While such a child is down
// and will be started again, its name is *vacant*: it has no owner, other actors
// of this node are refused it, and other nodes are told so. An owner on another
// node is not disturbed by that.
#ifndef UNDERSTUDY_ACTORS_REGISTRY_H_
#define UNDERSTUDY_ACTORS_REGISTRY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"

namespace understudy {

// One mailbox as a stranger sees it.
struct MailboxSignature {
  std::string name;  // wire name
  bool is_call = false;
  std::string request;  // full message name
  std::string reply;    // empty unless is_call
  friend bool operator==(const MailboxSignature&, const MailboxSignature&) = default;
};

enum class NameScope { kNode, kCluster };

struct NameRecord {
  std::string name;
  Pid pid;
  NameScope scope = NameScope::kNode;
  // When the owner claimed it, by the owner's wall clock.
  absl::Time claimed;
  // What the owner takes; empty when it is not known.
  std::vector<MailboxSignature> mailboxes;
  // The supervisor that keeps the name while the owner is down; null for none.
  Pid kept_by;
};

// A supervisor keeps a name for one of its children.
struct NameKeep {
  // The ends of the child after which the name is vacant. After NameConflict and
  // NameLost it never is: then another actor has the name.
  enum class After { kAnyEnd, kAbnormalEnd };

  std::string name;
  Pid keeper;
  NameScope scope = NameScope::kNode;
  After after = After::kAnyEnd;
  // The child lives on another node, so its end is not seen here: the name is
  // vacant at once, whenever no node shows an owner.
  bool is_elsewhere = false;
};

// OK, or InvalidArgument that says what is wrong with the name.
absl::Status ValidateName(absl::string_view name);

// OK, or FailedPrecondition naming the first mailbox of `used` that `offered`
// lacks or has with another kind or message. An empty `offered` is unknown, and
// passes.
absl::Status CheckMailboxes(const std::vector<MailboxSignature>& used, const std::vector<MailboxSignature>& offered);

class Registry;

// Why there is no owner: Restarting while the name is vacant, else NoName.
absl::Status NoOwnerError(Registry& registry, absl::string_view name);

// Carries the names of this node's actors to the other nodes. Any thread.
class NamePublisher {
 public:
  virtual ~NamePublisher() = default;
  // `done` is called exactly once, on any thread, perhaps before this returns.
  // OK means free as far as this node knows.
  virtual void Publish(const NameRecord& record, absl::AnyInvocable<void(absl::Status)> done) = 0;
  // The owner has ended or given the name up.
  virtual void Withdraw(absl::string_view name, Pid owner) = 0;
  // As Withdraw, and the name is vacant from then on, until it is published or
  // freed. A null owner had none here.
  virtual void Vacate(absl::string_view name, Pid owner) = 0;
  virtual void Free(absl::string_view name) = 0;
};

// Any thread.
class Registry {
 public:
  virtual ~Registry() = default;

  // `change` is null when the name has become free. Called in the order of the
  // changes, under a lock that every change takes, perhaps by an actor's end: it
  // is short, and neither changes the registry nor watches or unwatches it.
  using Listener = absl::AnyInvocable<void(absl::string_view name, const NameRecord* change)>;

  // Enters the record. AlreadyExists (with the owner's pid) when another actor
  // has the name, or it is vacant here and not kept by record.kept_by; OK when
  // this one has it already. A record of the cluster whose owner
  // is on another node is then kept hidden: it is entered when the present owner
  // gives the name up, and Remove forgets it.
  virtual absl::Status Insert(const NameRecord& record) = 0;
  // Removes the name if `owner` has it, hidden or not; else does nothing.
  virtual void Remove(absl::string_view name, Pid owner) = 0;
  // `owner` has ended: removes all its names, and withdraws the published ones;
  // those that are kept are vacant. What it kept itself is freed.
  virtual void RemoveAll(Pid owner, const ExitReason& reason) = 0;
  virtual absl::optional<NameRecord> Find(absl::string_view name) = 0;
  // All names that begin with `prefix`, in order.
  virtual std::vector<NameRecord> List(absl::string_view prefix) = 0;
  // Calls `listener` for the present owner of `name`, if any, and for every
  // change after that, until Unwatch. An empty name watches all names.
  virtual uint64_t Watch(absl::string_view name, Listener listener) = 0;
  // When it returns, the listener is not running and is not called again. Not by
  // a listener.
  virtual void Unwatch(uint64_t watch) = 0;

  // From now on the name is kept, unless another supervisor keeps it. Once more
  // changes what is kept.
  virtual void Keep(const NameKeep& keep) = 0;
  // Does nothing unless `keeper` keeps the name.
  virtual void Free(absl::string_view name, Pid keeper) = 0;
  // Whether it has no owner, and is kept vacant here or, as the transport says by
  // SetVacantElsewhere, on another node.
  virtual bool IsVacant(absl::string_view name) = 0;
  virtual void SetVacantElsewhere(absl::string_view name, bool is_vacant) = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_REGISTRY_H_

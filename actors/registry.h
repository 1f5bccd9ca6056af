// Registry: the names that one node knows. NamePublisher: tells other nodes the names
// of this node's actors.
//
// A name is a readable address with one owner, which is a pid. It has 1 to
// limits::kNameBytesMax bytes and no control characters. Names of the node
// (RegisteredAs) stay on this node. Names of the cluster (PublishedAs) go to the
// NamePublisher that a transport installs; the transport also inserts the names that
// other nodes publish. Lookups read this node's table only.
//
// The names of an actor that ends are released before its exits and Downs are sent.
//
// A supervisor keeps its children's names (NameKeep). While such a child is down and
// will be started again, its name is *vacant*: it has no owner, no other actor of this
// node can take it, and other nodes are told that it is vacant. If an actor of another
// node has the name, that actor keeps it.
#ifndef UNDERSTUDY_ACTORS_REGISTRY_H_
#define UNDERSTUDY_ACTORS_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
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

// The name, kind and message types of one mailbox.
struct MailboxSignature {
  std::string name;  // wire name
  bool is_call = false;
  std::string request;  // full message name
  std::string reply;    // empty unless is_call
  // For an actor on another node whose message types have the same names as types here but differ from them: says what
  // one of the two nodes would misread. Empty if nothing would be misread. Set by the transport.
  std::string misread;
  friend bool operator==(const MailboxSignature&, const MailboxSignature&) = default;
};

// The mailboxes of an actor, or null if they are not known. Many names with equal mailboxes share one object, so that a
// name does not cost the memory of its mailboxes.
using SharedMailboxes = std::shared_ptr<const std::vector<MailboxSignature>>;

namespace internal {

// Returns the mailboxes that a ref type uses, or none if it has no Mailboxes().
template <class R>
std::vector<MailboxSignature> MailboxesOf() {
  if constexpr (requires { R::Mailboxes(); }) {
    return R::Mailboxes();
  } else {
    return {};
  }
}

}  // namespace internal

enum class NameScope { kNode, kCluster };

struct NameRecord {
  std::string name;
  Pid pid;
  NameScope scope = NameScope::kNode;
  // When the owner claimed it, by the owner's wall clock.
  absl::Time claimed;
  SharedMailboxes mailboxes;  // the owner's
  // The supervisor that keeps the name while the owner is down, or null.
  Pid kept_by;
};

// Says that the supervisor `keeper` keeps a name for one of its children.
struct NameKeep {
  // The exits of the child after which the name is vacant. It is not vacant after
  // NameConflict and NameLost, because then another actor has the name.
  enum class After { kAnyEnd, kAbnormalEnd };

  std::string name;
  Pid keeper;
  NameScope scope = NameScope::kNode;
  After after = After::kAnyEnd;
  // True if the child runs on another node. This node does not see that child end, so
  // the name counts as vacant whenever it has no owner.
  bool is_elsewhere = false;
};

// Returns OK, or InvalidArgument that says what is wrong with the name.
absl::Status ValidateName(absl::string_view name);

// Returns OK if `offered` has every mailbox of `used`, with message types of the same names
// and without anything that is misread, or if `offered` is empty, which means unknown.
// Otherwise returns FailedPrecondition, which says for each mailbox of `used` that is
// missing or differs what is wrong with it.
absl::Status CheckMailboxes(const std::vector<MailboxSignature>& used, const std::vector<MailboxSignature>& offered);

class Registry;

// Returns the error for a name without an owner: Restarting if it is vacant, else NoName.
absl::Status NoOwnerError(Registry& registry, absl::string_view name);

// Tells other nodes the names of this node's actors. Any thread.
class NamePublisher {
 public:
  virtual ~NamePublisher() = default;
  // Publishes the name. `done` is called exactly once, on any thread, perhaps before
  // this returns; OK means that the name was free as far as this node knows.
  virtual void Publish(const NameRecord& record, absl::AnyInvocable<void(absl::Status)> done) = 0;
  // Withdraws a published name whose owner has ended or given it up.
  virtual void Withdraw(absl::string_view name, Pid owner) = 0;
  // Like Withdraw, and makes the name vacant until it is published or freed. `owner` is
  // null if no actor of this node had the name.
  virtual void Vacate(absl::string_view name, Pid owner) = 0;
  // Ends the vacancy of a name.
  virtual void Free(absl::string_view name) = 0;
};

// Any thread.
class Registry {
 public:
  virtual ~Registry() = default;

  // Is told the record of the name's new owner, or null if the name has no owner any
  // more. Called in the order of the changes, on the thread that makes the change and
  // under a lock that every change takes. So it must be short, must not change the
  // registry, and must not call Watch or Unwatch.
  using Listener = absl::AnyInvocable<void(absl::string_view name, const NameRecord* change)>;

  // Enters the record. Returns OK also if its owner has the name already. Returns
  // AlreadyExists if another actor has the name (the message has its pid), or if the
  // owner is of this node and the name is vacant and kept by another supervisor than
  // record.kept_by. A record of the cluster for an actor of another node, refused because
  // an actor of this node has the name, is kept hidden: it is entered when that actor
  // gives the name up, unless Remove removes it before.
  virtual absl::Status Insert(const NameRecord& record) = 0;
  // Removes the record of `name` if its owner is `owner`, hidden or not; else does nothing.
  virtual void Remove(absl::string_view name, Pid owner) = 0;
  // Call when `owner` has ended. Removes all its names and withdraws the published ones;
  // names that a supervisor keeps become vacant if their NameKeep says so for `reason`.
  // Frees the names that `owner` itself kept.
  virtual void RemoveAll(Pid owner, const ExitReason& reason) = 0;
  // All names that begin with `prefix`, in order.
  virtual std::vector<NameRecord> List(absl::string_view prefix) = 0;
  // The first `at_most` of List(prefix) whose names come after `after`. Costs as much as the records that it returns,
  // however many names there are.
  virtual std::vector<NameRecord> Page(absl::string_view prefix, absl::string_view after, size_t at_most) = 0;
  // The names that `owner` has, in order.
  virtual std::vector<std::string> NamesOf(Pid owner) = 0;
  // Calls `listener` for the present owner of `name`, if any, and for every later change,
  // until Unwatch. An empty name watches all names. Returns the number of the watch.
  virtual uint64_t Watch(absl::string_view name, Listener listener) = 0;
  // Ends the watch. When this returns, the listener is not running and is not called
  // again. Listeners must not call it.
  virtual void Unwatch(uint64_t watch) = 0;

  // Keeps the name for keep.keeper from now on. Does nothing if another supervisor keeps
  // the name. A further call by the same keeper replaces the earlier one.
  virtual void Keep(const NameKeep& keep) = 0;
  // Ends Keep. Does nothing unless `keeper` keeps the name.
  virtual void Free(absl::string_view name, Pid keeper) = 0;
  // A name at one moment. A name with an owner is not vacant.
  struct NameLook {
    absl::optional<NameRecord> owner;
    bool is_vacant = false;
  };
  // Returns the owner of the name, or whether it is vacant: on this node, or on another one as the transport says by
  // SetVacantElsewhere. Find and IsVacant one after the other may find neither: a vacant name may be taken in between.
  virtual NameLook Look(absl::string_view name) = 0;
  absl::optional<NameRecord> Find(absl::string_view name) { return Look(name).owner; }
  bool IsVacant(absl::string_view name) { return Look(name).is_vacant; }
  virtual void SetVacantElsewhere(absl::string_view name, bool is_vacant) = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_REGISTRY_H_

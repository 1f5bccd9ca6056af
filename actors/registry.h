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
};

// OK, or InvalidArgument that says what is wrong with the name.
absl::Status ValidateName(absl::string_view name);

// OK, or FailedPrecondition naming the first mailbox of `used` that `offered`
// lacks or has with another kind or message. An empty `offered` is unknown, and
// passes.
absl::Status CheckMailboxes(const std::vector<MailboxSignature>& used, const std::vector<MailboxSignature>& offered);

// Carries the names of this node's actors to the other nodes. Any thread.
class NamePublisher {
 public:
  virtual ~NamePublisher() = default;
  // `done` is called exactly once, on any thread, perhaps before this returns.
  // OK means free as far as this node knows.
  virtual void Publish(const NameRecord& record, absl::AnyInvocable<void(absl::Status)> done) = 0;
  // The owner has ended or given the name up.
  virtual void Withdraw(absl::string_view name, Pid owner) = 0;
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
  // has the name; OK when this one has it already. A record of the cluster whose owner
  // is on another node is then kept hidden: it is entered when the present owner
  // gives the name up, and Remove forgets it.
  virtual absl::Status Insert(const NameRecord& record) = 0;
  // Removes the name if `owner` has it, hidden or not; else does nothing.
  virtual void Remove(absl::string_view name, Pid owner) = 0;
  // Removes all names of `owner`, and withdraws the published ones.
  virtual void RemoveAll(Pid owner) = 0;
  virtual absl::optional<NameRecord> Find(absl::string_view name) = 0;
  // All names that begin with `prefix`, in order.
  virtual std::vector<NameRecord> List(absl::string_view prefix) = 0;
  // Calls `listener` for the present owner of `name`, if any, and for every
  // change after that, until Unwatch. An empty name watches all names.
  virtual uint64_t Watch(absl::string_view name, Listener listener) = 0;
  // When it returns, the listener is not running and is not called again. Not by
  // a listener.
  virtual void Unwatch(uint64_t watch) = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_REGISTRY_H_

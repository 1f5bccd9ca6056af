// NameTable: the embedded name table of one node: its own actors' cluster
// names, and those that its peers told it of their own.
//
// A plain state machine: no threads, clock or socket inside. A node tells each
// peer itself, over their session: a snapshot when it begins, changes after. A
// peer's names go when its session ends. Nobody passes on another's names, so
// nothing that is gone can come back.
//
// A claim is optimistic: OK means free as far as this node knew. When two live
// owners see each other, one total rule decides alike on both nodes: the
// earlier claim by the owners' wall clocks, then the smaller node name, then
// the smaller serial. The loser's node drops its entry and gets a Lost for its
// actor, which must exit NameConflict. Third parties act on nothing: while they
// see two claims they show the better one.
//
// Names travel the same sequence as Downs, so a name is seen to be free before
// its owner's Down is.
#ifndef UNDERSTUDY_TRANSPORT_NAME_TABLE_H_
#define UNDERSTUDY_TRANSPORT_NAME_TABLE_H_

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/names.pb.h"

namespace understudy {

// Who says that a name is whose. `mailboxes` are the wire's, kept unread.
struct NameEntry {
  std::string node;
  Pid pid;
  absl::Time claimed;
  std::vector<proto::MailboxSignature> mailboxes;
};

class NameTable {
 public:
  // What a change leads to, in order.
  struct Change {
    enum class Kind {
      kShow,  // `name` is now `entry`'s, as far as this node knows
      kHide,  // `name` is free; `entry` was its last owner
      kLost,  // our `entry` lost its name to another: its actor must exit
    };
    Kind kind;
    std::string name;
    NameEntry entry;
  };

  // `node` is ours.
  explicit NameTable(std::string node) : node_(std::move(node)) {}

  // ---- Our own names ----

  // AlreadyExists, with the owner, when this node knows another one;
  // ResourceExhausted at limits::kNamesPerNodeMax. OK again for the owner.
  absl::Status Claim(absl::string_view name, Pid pid, absl::Time now, std::vector<proto::MailboxSignature> mailboxes);
  // Does nothing unless `pid` owns it.
  void Release(absl::string_view name, Pid pid);
  // What peers have not been told yet of our own names; empty when nothing.
  // Every peer with a session gets every one of them.
  absl::optional<proto::NameChanges> TakeOwnChanges();
  // All our names, in parts that each fit one envelope well; the last one is
  // marked complete. For a peer whose session begins, right after
  // TakeOwnChanges has gone to the others.
  std::vector<proto::NameChanges> Snapshot() const;

  // ---- Peers' names ----

  // The peer's names are of the pids of `peer_node`. InvalidArgument when the
  // peer broke a rule (a name that is none, too many of them): a bad frame.
  absl::Status OnChanges(absl::string_view peer, uint16_t peer_node, const proto::NameChanges& changes);
  void OnSessionEnded(absl::string_view peer);

  std::vector<Change> TakeChanges() { return std::exchange(changes_, {}); }

  // ---- Observers ----

  // The owner that this node shows, or null. Valid until the next change.
  const NameEntry* Find(absl::string_view name) const;
  size_t size() const { return names_.size(); }

 private:
  // By node: each may claim the name once.
  using Claims = std::map<std::string, NameEntry, std::less<>>;

  static bool IsBetter(const NameEntry& a, const NameEntry& b);
  static const NameEntry* Best(const Claims& claims);
  // Adds (or, with null, removes) a node's claim, and notes what it leads to.
  void Put(absl::string_view name, absl::string_view node, const NameEntry* entry);
  void NoteOwnRelease(absl::string_view name, Pid pid);
  void NoteOwnClaim(absl::string_view name, const NameEntry& entry);

  const std::string node_;
  std::map<std::string, Claims, std::less<>> names_;
  std::map<std::string, size_t, std::less<>> names_of_node_;
  proto::NameChanges untold_;
  std::vector<Change> changes_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_NAME_TABLE_H_

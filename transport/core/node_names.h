// NodeNames: the name table of a node (name_table.h), which all its peers share, and
// the queue of changes that the table requires in the registry.
//
// Locks. The table's lock, mu_, is a leaf, so a peer's core may call with its own lock
// held. The changes for one peer are taken from the table and appended to the peer's
// session under that peer's lock, so they keep their order.
//
// Order. The registry shows one owner of a name, so its changes have one order over
// all peers. MakeChanges makes them: when it returns, all changes that were in the queue
// when it was called have been made. It is called by threads of the transport that hold
// no other lock. Its lock, making_mu_, is the only lock of the transport that is held
// while the registry and the system are called. That is safe because both return
// without running user code, and no function that an actor calls waits for making_mu_.
#ifndef UNDERSTUDY_TRANSPORT_CORE_NODE_NAMES_H_
#define UNDERSTUDY_TRANSPORT_CORE_NODE_NAMES_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/router.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/names/name_feed.h"
#include "understudy/transport/names/name_table.h"
#include "understudy/transport/protocol/local_types.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy::internal {

class NodeNames {
 public:
  // `node` is this node's name. `registry` and `inbound` must outlive this object.
  // `types` are the messages of this node's actors.
  NodeNames(std::string node, std::shared_ptr<const Grants> grants, Registry* registry, understudy::Inbound* inbound,
            LocalTypes types);

  // ---- Any thread, also with a peer's lock held. Functions without a comment are as in NameTable. ----

  absl::Status Claim(absl::string_view name, Pid pid, MonotonicTime now,
                     const std::vector<proto::MailboxSignature>& mailboxes);
  bool Release(absl::string_view name, Pid pid);
  void Vacate(absl::string_view name, Pid pid);
  void Free(absl::string_view name);
  // Replaces the grants, and asks the peers for their names again.
  void SetGrants(std::shared_ptr<const Grants> grants);
  // `identity` is what the stream with which the session began proved of the peer.
  void OnSessionBegun(absl::string_view peer, const StreamIdentity& identity, NodePlace place, MonotonicTime now,
                      Fingerprints fingerprints);
  struct Taken {
    absl::Status status;
    bool is_counted = false;                  // OnChangesEntered must be called
    bool tells_others = false;                // other peers must be told something
    std::vector<NameTable::Change> refusals;  // kRefused, kNotGranted and kTooMany, for the peer's own deliveries
  };
  Taken OnChanges(absl::string_view peer, absl::string_view bytes);
  void OnChangesEntered(absl::string_view peer);
  void OnSessionEnded(absl::string_view peer);
  absl::optional<NameFeed::Part> TakePart(absl::string_view peer);
  // The number of claims in the peer's session that were refused: no grant allows them, or its names take as much as
  // they may.
  int64_t ClaimsRefused(absl::string_view peer);
  bool MustHold(absl::string_view peer);
  absl::Status Hold(absl::string_view peer, std::shared_ptr<const Signal> signal, size_t bytes);
  size_t HeldBytes(absl::string_view peer);
  // The number of names that this node owns or keeps vacant.
  size_t own_names();
  // Whether changes wait for MakeChanges.
  bool has_changes();

  // ---- Threads of the transport, without a lock ----

  void MakeChanges();

 private:
  bool MayPublish(absl::string_view peer, absl::string_view name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TakeChanges(std::vector<NameTable::Change>* refusals) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Make(const NameTable::Change& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(making_mu_);
  void EndOwner(const NameTable::Change& change, const ExitReason& reason);

  const std::string node_;
  Registry* const registry_;
  understudy::Inbound* const inbound_;

  absl::Mutex making_mu_ ABSL_ACQUIRED_BEFORE(mu_);
  // The registry's owner of each cluster name, as this node put it there.
  std::map<std::string, Pid> shown_ ABSL_GUARDED_BY(making_mu_);

  absl::Mutex mu_;
  std::shared_ptr<const Grants> grants_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, StreamIdentity, std::less<>> identities_ ABSL_GUARDED_BY(mu_);  // of peers with a session
  NameTable table_ ABSL_GUARDED_BY(mu_);
  std::vector<NameTable::Change> changes_ ABSL_GUARDED_BY(mu_);  // for MakeChanges
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CORE_NODE_NAMES_H_

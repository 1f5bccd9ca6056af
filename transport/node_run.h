// NodeRun: what ends the run of a node (Node::RunUntilSignal): SIGTERM or SIGINT, a request,
// or the end of the node's tree.
//
// Threads: any, except as said at Run. Lifetime: no call of Run is under way when the object
// is destroyed.
#ifndef UNDERSTUDY_TRANSPORT_NODE_RUN_H_
#define UNDERSTUDY_TRANSPORT_NODE_RUN_H_

#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/exit_reason.h"

namespace understudy::internal {

class NodeRun {
 public:
  NodeRun();
  ~NodeRun();
  NodeRun(const NodeRun&) = delete;
  NodeRun& operator=(const NodeRun&) = delete;

  // Ends the run, also one that has not begun. May be called in an actor's turn.
  void RequestEnd();
  // The node's tree has ended for that reason, which ends the run. An abnormal one is a failure.
  void OnTreeEnded(const ExitReason& reason);

  // Calls `begin`, blocks until the run ends, and then calls `end` with the reason why the tree
  // failed, if it did. Returns what `end` returned. Until then the first SIGTERM or SIGINT ends
  // the run, and a second one ends the process at once with exit status 128 + its number. A
  // program that must not lose a signal that arrives before the call blocks both signals at the
  // start of main; this call unblocks them for its thread, and restores the earlier actions and
  // mask before it returns. At most one run of a process at a time (CHECKed).
  int Run(const std::function<void()>& begin,
          const std::function<int(const absl::optional<ExitReason>& tree_failed)>& end);

 private:
  const int requested_;  // eventfd, readable after RequestEnd
  absl::Mutex tree_mu_;
  absl::optional<ExitReason> tree_failed_ ABSL_GUARDED_BY(tree_mu_);
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_NODE_RUN_H_

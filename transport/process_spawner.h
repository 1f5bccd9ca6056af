// ProcessSpawner: starts nodes as processes of their own, each represented by
// a local actor (see actors/spawner.h).
//
// The stand-in is started when the child's node says so (Node::Ready, which
// RunUntilSignal implies); dies with the wait status as its reason, told once
// (exit code 0 is Normal); asked to stop, or when its parent exits, it asks the
// child over their session, after stop_within sends SIGTERM, after another
// SIGKILL, and without a limit waits; killed itself, it SIGKILLs the child's process group. A child that
// lives while its stream is gone is killed. A child whose parent is gone, even
// by SIGKILL, ends itself at the end of file of the socketpair.
//
// The spawner tells each child where the others listen, also after a restart.
//
// Any thread. Lifetime: stand-ins may outlive the spawner, not what it was
// given.
#ifndef UNDERSTUDY_TRANSPORT_PROCESS_SPAWNER_H_
#define UNDERSTUDY_TRANSPORT_PROCESS_SPAWNER_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/spawner.h"
#include "understudy/proto/process.pb.h"
#include "understudy/transport/frame_stream.h"

namespace understudy::internal {

// Which children there are, and where they listen. Any thread.
class ProcessDirectory {
 public:
  // The child of that stand-in listens at `address`. Gives the other children,
  // for it, and their stand-ins, to be told.
  struct Others {
    std::vector<proto::PeerAddress> addresses;
    std::vector<Pid> stand_ins;
  };
  Others Enter(const std::string& node, const std::string& address, Pid stand_in);
  // Does nothing when the entry is another's by now.
  void Remove(const std::string& node, Pid stand_in);

 private:
  struct Entry {
    std::string address;
    Pid stand_in;
  };
  absl::Mutex mu_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mu_);
};

class ProcessSpawner {
 public:
  // `node` is the parent's name; `accept` takes the children's streams.
  ProcessSpawner(std::string node, AcceptStream accept)
      : node_(std::move(node)), accept_(std::move(accept)), directory_(std::make_shared<ProcessDirectory>()) {}

  // InvalidArgument: the node's name is no DNS label, or this node's own.
  // FailedPrecondition: there is no such binary, or it is not executable.
  absl::StatusOr<std::function<std::unique_ptr<Actor>()>> ForProcess(const ProcessChild& child);

  // Whether ForProcess was ever called for a node of that name.
  bool IsChild(absl::string_view node);

 private:
  const std::string node_;
  const AcceptStream accept_;
  const std::shared_ptr<ProcessDirectory> directory_;
  absl::Mutex mu_;
  std::set<std::string, std::less<>> children_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_PROCESS_SPAWNER_H_

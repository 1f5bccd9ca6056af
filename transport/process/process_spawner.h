// ProcessSpawner: starts nodes as processes of their own, each represented by
// a local actor (see actors/spawner.h).
//
// The proxy is started when the child's node says so (Node::Ready, which
// RunUntilSignal implies); dies with the wait status as its reason, told once
// (exit code 0 is Normal); asked to stop, or when its parent exits, it asks the
// child over their session, after stop_within sends SIGTERM, after another
// SIGKILL, and without a limit waits; killed itself, it SIGKILLs the child's process group. A child that
// lives while its stream is gone, or that closed its end of the socketpair before its node dialled, is killed. A child
// whose parent is gone, even by SIGKILL, ends itself at the end of file of the socketpair.
//
// The spawner tells each child where the others listen, also after a restart,
// and when one is gone.
//
// Any thread. Lifetime: proxys may outlive the spawner, not what it was
// given.
#ifndef UNDERSTUDY_TRANSPORT_PROCESS_PROCESS_SPAWNER_H_
#define UNDERSTUDY_TRANSPORT_PROCESS_PROCESS_SPAWNER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/spawner.h"
#include "understudy/proto/process.pb.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/sockets/socket_folder.h"

namespace understudy::internal {

// Which children there are, and where they listen. Any thread.
class ProcessDirectory {
 public:
  // How a proxy is told where another's child listens; at an empty address
  // when that is gone. In the order of the changes, with a lock held.
  using Tell = std::function<void(Pid proxy, const proto::PeerAddress& peer)>;
  explicit ProcessDirectory(Tell tell) : tell_(std::move(tell)) {}

  // That proxy's child will be started; there is no other of its name. `silence` is
  // ProcessChild::silent_within.
  void Add(const std::string& node, Pid proxy, absl::Duration silence = limits::kProcessChildSilence);
  // It listens at `address`, which the others are told. Gives where they do.
  std::vector<proto::PeerAddress> Enter(const std::string& node, const std::string& address);
  // It is gone, which the others are told.
  void Remove(const std::string& node);
  // Null when there is no such child.
  Pid ProxyOf(absl::string_view node);
  // Nothing when there is no such child.
  absl::optional<absl::Duration> SilenceOf(absl::string_view node);

 private:
  struct Entry {
    absl::Duration silence;
    std::string address;  // empty until it listens
    Pid proxy;
  };
  void TellOthers(const std::string& node, const std::string& address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Tell tell_;
  absl::Mutex mu_;
  std::map<std::string, Entry, std::less<>> entries_ ABSL_GUARDED_BY(mu_);
};

// What the spawner needs of the parent's node. Any thread.
struct ProcessHost {
  std::string node;  // its name
  // Where children listen for each other; empty: on a Unix socket of this node's own folder.
  std::string children_listen;
  // Takes the children's streams; see NodeCore::Accept.
  std::function<FrameStream::Events*(std::unique_ptr<FrameStream>, const StreamIdentity&, NodeCore::OnStreamOver)>
      accept;
  // Keeps a place for the node of a process that is to be started, or says why
  // there is none.
  std::function<absl::Status(absl::string_view node)> expect;
  // It is gone; called once for each that was expected.
  std::function<void(absl::string_view node)> forget;
};

class ProcessSpawner {
 public:
  explicit ProcessSpawner(ProcessHost host);

  // InvalidArgument: the node's name is not a DNS label or is this node's own, or
  // silent_within is out of its range.
  // FailedPrecondition: there is no such binary, or it is not executable.
  absl::StatusOr<std::function<std::unique_ptr<Actor>()>> ForProcess(const ProcessChild& child);

  // Whether the node of that name is a process child that is there, or is being
  // started.
  bool IsChild(absl::string_view node) { return !directory_->ProxyOf(node).is_null(); }
  // ProcessChild::silent_within of that process child; nothing when it is not one.
  absl::optional<absl::Duration> SilenceOf(absl::string_view node) { return directory_->SilenceOf(node); }
  // This node can begin no session with that one, which ends it if it is a child.
  void SessionFailed(absl::string_view node, absl::string_view why);

 private:
  const ProcessHost host_;
  const std::shared_ptr<ProcessDirectory> directory_;
  const std::shared_ptr<SocketFolder> sockets_;  // until the last proxy has ended
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_PROCESS_PROCESS_SPAWNER_H_

// ProcessSpawner: starts nodes as processes of their own, each represented by
// a local actor (see actors/spawner.h).
//
// - The proxy has started when the child's node calls Node::Ready (as RunUntilSignal does).
// - The proxy ends with the child's wait status as its exit reason (exit code 0 is Normal).
// - When the proxy is asked to stop, or its parent exits, it asks the child over their
//   session to stop. After stop_within it sends SIGTERM, and after another stop_within
//   SIGKILL. Without a limit it waits.
// - When the proxy is killed, the child's process group gets SIGKILL.
// - A child that lives although its stream is gone, or that closed its end of the socketpair
//   before its node dialled, is killed.
// - A child whose parent is gone, even by SIGKILL, ends itself at the end of file of the
//   socketpair.
//
// The spawner tells each child the addresses of the others, also after a restart, and which
// of them are gone.
//
// Any thread. Lifetime: proxies may outlive the spawner, but not the node that the functions
// of its ProcessHost use.
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
#include "understudy/actors/crash_report.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/spawner.h"
#include "understudy/proto/process.pb.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/sockets/socket_folder.h"

namespace understudy::internal {

// The process children of a node and the addresses at which they listen. Any thread.
class ProcessDirectory {
 public:
  // Tells `proxy` the address at which another proxy's child listens; it is empty if that
  // child is gone. Called in the order of the changes, with a lock held.
  using Tell = std::function<void(Pid proxy, const proto::PeerAddress& peer)>;
  explicit ProcessDirectory(Tell tell) : tell_(std::move(tell)) {}

  // Adds a child that is about to be started. `silence` is ProcessChild::silent_within. AlreadyExists: another child
  // has the name `node`.
  absl::Status Add(const std::string& node, Pid proxy, absl::Duration silence = limits::kProcessChildSilence);
  // Records that the child listens at `address` and tells the other proxies. Returns the
  // addresses of the other children.
  std::vector<proto::PeerAddress> Enter(const std::string& node, const std::string& address);
  // Removes a child that is gone and tells the other proxies.
  void Remove(const std::string& node);
  // The proxy of the child, or a null pid if there is no such child.
  Pid ProxyOf(absl::string_view node);
  // The child's silent_within, or nullopt if there is no such child.
  absl::optional<absl::Duration> SilenceOf(absl::string_view node);

 private:
  struct Entry {
    absl::Duration silence;
    std::string address;  // empty until the child listens
    Pid proxy;
  };
  void TellOthers(const std::string& node, const std::string& address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Tell tell_;
  absl::Mutex mu_;
  std::map<std::string, Entry, std::less<>> entries_ ABSL_GUARDED_BY(mu_);
};

// The functions of the parent's node that the spawner uses. Any thread.
struct ProcessHost {
  std::string node;  // the name of the parent's node
  // The address at which children listen for each other. If empty, each child gets a Unix socket in this node's folder.
  std::string children_listen;
  // Takes the children's streams; see NodeCore::Accept.
  std::function<FrameStream::Events*(std::unique_ptr<FrameStream>, const StreamIdentity&, NodeCore::OnStreamOver)>
      accept;
  // Reserves a peer's slot for the node of a process that is about to start, or returns why there is none. See
  // NodeCore::ExpectChild.
  std::function<absl::Status(absl::string_view node)> expect;
  // Releases the slot of a node that is gone; called once for each call of `expect`.
  std::function<void(absl::string_view node)> forget;
  // An actor of a child has crashed.
  std::function<void(const CrashReport& crash, const ExitReason& reason)> crashed;
};

class ProcessSpawner {
 public:
  explicit ProcessSpawner(ProcessHost host);

  // Returns a function that makes a proxy, which starts the process, at each call.
  // InvalidArgument: the node's name is not a DNS label or is this node's own,
  // silent_within or stop_within is out of its range, or the binary's path is malformed.
  // NotFound: there is no such binary. PermissionDenied: the binary is not executable.
  absl::StatusOr<std::function<std::unique_ptr<Actor>()>> ForProcess(const ProcessChild& child);

  // True if `node` is the name of a process child that runs or is being started.
  bool IsChild(absl::string_view node) { return !directory_->ProxyOf(node).is_null(); }
  // ProcessChild::silent_within of the process child `node`, or nullopt if there is none.
  absl::optional<absl::Duration> SilenceOf(absl::string_view node) { return directory_->SilenceOf(node); }
  // Called when this node cannot begin a session with `node`. If that is a process child,
  // its proxy ends and the process is killed.
  void SessionFailed(absl::string_view node, absl::string_view why);

 private:
  const ProcessHost host_;
  const std::shared_ptr<ProcessDirectory> directory_;
  const std::shared_ptr<SocketFolder> sockets_;  // shared with the proxies, so it exists until the last has ended
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_PROCESS_PROCESS_SPAWNER_H_

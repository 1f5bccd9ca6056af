// What makes a node a process child: the connection to its parent, the thread
// that watches it, and the actor that talks over it.
//
// The process ends with its parent: at the end of file of the socketpair
// on_parent_gone is called, and if the watch still stands limits::kParentGoneDrain
// later, the process exits.
#ifndef UNDERSTUDY_TRANSPORT_PROCESS_PROCESS_CHILD_H_
#define UNDERSTUDY_TRANSPORT_PROCESS_PROCESS_CHILD_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/ref.h"
#include "understudy/transport/process/process_actors.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy::internal {

// What this process's parent wrote into its environment, read once, and removed
// there, so that nothing that this process starts believes it. Null when there
// is none. Before other threads use the environment.
const absl::StatusOr<ParentInvitation>* ReceivedInvitation();

// Dials the parent over the inherited descriptor, once, and other addresses as
// `others` does.
class ParentDialer final : public Dialer {
 public:
  // The address that stands for the parent's descriptor.
  static constexpr absl::string_view kAddress = "parent";

  ParentDialer(int descriptor, std::unique_ptr<Dialer> others) : descriptor_(descriptor), others_(std::move(others)) {}
  ~ParentDialer() override;
  std::unique_ptr<FrameStream> Dial(absl::string_view node, absl::string_view address,
                                    FrameStream::Events* events) override;
  StreamIdentity IdentityAt(absl::string_view node, absl::string_view address) const override;

 private:
  std::atomic<int> descriptor_;  // -1 once dialled
  const std::unique_ptr<Dialer> others_;
};

// Watches the parent's end of the socketpair, apart from gRPC.
class ParentWatch {
 public:
  // `descriptor` stays the caller's. `on_parent_gone` is called at most once, on
  // a thread of its own, and must not wait.
  static absl::StatusOr<std::unique_ptr<ParentWatch>> Start(int descriptor, std::function<void()> on_parent_gone);
  // Calls it off; the process goes on.
  ~ParentWatch();

  // The same as the end of file: the session with the parent is lost.
  void ParentIsGone();
  // From now on the process is ending in order, and has `within` for it: the
  // connection may end first.
  void Leaving(absl::Duration within);

 private:
  ParentWatch(int descriptor, int wake, std::function<void()> on_parent_gone);
  void Run();

  const int descriptor_;
  const int wake_;  // an eventfd
  const std::function<void()> on_parent_gone_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> gone_{false};
  std::atomic<int> exit_after_milliseconds_;
  std::thread thread_;
};

// The child's end of the link between the two nodes' supervision.
struct ProcessLinkOptions {
  std::string node;     // ours
  std::string parent;   // the parent's node
  std::string address;  // where we listen
  // In the actor's turn.
  std::function<void()> on_stop;
  // Empty: that peer is gone.
  std::function<void(absl::string_view node, absl::string_view address)> on_peer;
  std::function<void(absl::Status why)> on_lost;
};

// Any thread, also when the actor has ended.
struct ProcessLinkCalls {
  // Tells the parent that this process is started, as soon as the link is there.
  std::function<void()> ready;
  // Tells it that this process ends by itself. Waits at most so long for the
  // link, if `ready` was called: a process that was started has been started.
  std::function<void(absl::Duration within)> leaving;
};

// Starts the actor.
ProcessLinkCalls StartProcessLink(ActorSystem& system, ProcessLinkOptions options);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_PROCESS_PROCESS_CHILD_H_

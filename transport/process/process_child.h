// The parts of a node that is a process child: ParentDialer connects it to its parent,
// ParentWatch watches that connection, and StartProcessLink starts the actor that talks to
// the parent's proxy.
//
// The process ends with its parent: at the end of file of the socketpair ParentWatch calls
// on_parent_gone, and if the ParentWatch still exists limits::kParentGoneDrain later, the
// process exits.
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
#include "understudy/proto/ref.pb.h"
#include "understudy/transport/process/parent_invitation.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy::internal {

// Returns the invitation that this process's parent put into the environment, or null if
// there is none. The first call removes it from the environment, so that processes which
// this process starts do not see it; call it before other threads use the environment.
const absl::StatusOr<ParentInvitation>* ReceivedInvitation();

// Dials the parent over the inherited descriptor, which works only once, and passes other
// addresses to `others`.
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
  std::atomic<int> descriptor_;  // -1 after the parent was dialled
  const std::unique_ptr<Dialer> others_;
};

// Waits on a thread of its own, independently of gRPC, for the parent to close the
// socketpair.
class ParentWatch {
 public:
  // Watches a duplicate of `descriptor`, which the caller still owns. `on_parent_gone` is
  // called at most once, on the watch's thread, and must not wait.
  static absl::StatusOr<std::unique_ptr<ParentWatch>> Start(int descriptor, std::function<void()> on_parent_gone);
  // Ends the watch; the process does not exit because of it any more.
  ~ParentWatch();

  // Acts as the end of file does. Called when the session with the parent is lost.
  void ParentIsGone();
  // Call before this node ends its session with the parent, when its actors have ended. If the
  // connection ends from now on, the process exits `within` later in place of
  // limits::kParentGoneDrain.
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

// The child's end of the link to the parent's proxy. The callbacks are called in the turn of
// the link's actor.
struct ProcessLinkOptions {
  proto::Ref proxy;     // ParentInvitation::proxy
  std::string address;  // the address at which this node listens
  // The parent asks this process to stop.
  std::function<void()> on_stop;
  // A sibling listens at `address`, or is gone if `address` is empty.
  std::function<void(absl::string_view node, absl::string_view address)> on_peer;
};

// Calls to the link. Any thread, even after the link's actor has ended.
struct ProcessLinkCalls {
  // The session with the parent has begun. Tells the parent that this process's node runs.
  std::function<void()> connected;
  // Tells the parent that this process has started, as soon as `connected` was called.
  std::function<void()> ready;
  // Tells the parent that this process ends by itself. If `ready` was called, waits up to `within` for `connected`, so
  // that the parent learns first that the process had started.
  std::function<void(absl::Duration within)> leaving;
};

// Starts the link's actor in `system`, whose node is installed.
ProcessLinkCalls StartProcessLink(ActorSystem& system, ProcessLinkOptions options);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_PROCESS_PROCESS_CHILD_H_

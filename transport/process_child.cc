#include "understudy/transport/process_child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/task.h"
#include "understudy/proto/process.pb.h"
#include "understudy/transport/frame_stream.h"
#include "understudy/transport/grpc_stream.h"
#include "understudy/transport/process_actors.h"
#include "understudy/transport/ref_proto.h"
#include "understudy/transport/thread.h"

namespace understudy::internal {
namespace {

constexpr int kOrphanExitStatus = 1;

absl::optional<absl::StatusOr<ParentInvitation>> ReadInvitation() {
  const char* const text = getenv(ParentInvitation::kVariable);
  if (text == nullptr) return absl::nullopt;
  absl::StatusOr<ParentInvitation> invitation = ParentInvitation::Parse(text);
  unsetenv(ParentInvitation::kVariable);
  return invitation;
}

// Talks to the stand-in of this process.
class ProcessLink final : public ProcessChildActor {
 public:
  ProcessLink(ProcessLinkOptions options, std::shared_ptr<Handover<ProcessParentRef>> found)
      : options_(std::move(options)), found_(std::move(found)) {}

  Next Start() override { return Attach(); }

  using Parent = Handover<ProcessParentRef>;

  static ProcessLinkCalls CallsOf(Pid pid, std::shared_ptr<Parent> parent) {
    ProcessLinkCalls calls;
    calls.ready = [link = understudy::Ref<ProcessLink>(pid)] {
      link[&ProcessLink::ready_].Send(ReadyNow()).IgnoreError();  // it is over when the link is
    };
    // Not through the actor, which ends with the others.
    calls.leaving = [parent = std::move(parent)] {
      const absl::optional<ProcessParentRef> found = parent->Take();
      if (found.has_value()) found->leaving().Send(proto::ProcessLeaving()).IgnoreError();
    };
    return calls;
  }

 private:
  struct ReadyNow {};

  Task<Next> Attach() {
    const auto looking =
        context().Lookup<ProcessParentRef>(ProcessParentName(options_.node), limits::kParentAnswersWithin);
    const absl::StatusOr<ProcessParentRef> parent = co_await looking;
    if (!parent.ok()) {
      options_.on_lost(parent.status());
      co_return Next(parent.status());
    }
    parent_ = *parent;
    found_->Give(parent_);
    proto::ProcessAttached message;
    *message.mutable_child() = ToProto(context().Self());
    message.set_address(options_.address);
    parent_.attached().Tell(std::move(message));
    co_return Next(linked_);
  }
  void Ready(const ReadyNow&) { parent_.started().Tell(proto::ProcessStarted()); }
  void StopAsked(const proto::ProcessStop&) { options_.on_stop(); }
  void PeerTold(const proto::PeerAddress& peer) { options_.on_peer(peer.node(), peer.address()); }

  const ProcessLinkOptions options_;
  const std::shared_ptr<Handover<ProcessParentRef>> found_;
  ProcessParentRef parent_;
  Mailbox<"Ready", ReadyNow> ready_{this};
  Behavior linked_{"linked", On(ready_, &ProcessLink::Ready), On(stop, &ProcessLink::StopAsked),
                   On(meet_peer, &ProcessLink::PeerTold)};
};

}  // namespace

const absl::StatusOr<ParentInvitation>* ReceivedInvitation() {
  static const auto* const received = new absl::optional<absl::StatusOr<ParentInvitation>>(ReadInvitation());
  return received->has_value() ? &received->value() : nullptr;
}

ParentDialer::~ParentDialer() {
  if (const int descriptor = descriptor_.exchange(-1); descriptor >= 0) close(descriptor);
}

std::unique_ptr<FrameStream> ParentDialer::Dial(absl::string_view address, FrameStream::Events* events) {
  if (address != kAddress) return others_->Dial(address, events);
  const int descriptor = descriptor_.exchange(-1);
  if (descriptor >= 0) return DialOver(descriptor, events);
  return FailedStream(absl::UnavailableError("the connection to the parent has ended, and there is no other"), events);
}

absl::StatusOr<std::unique_ptr<ParentWatch>> ParentWatch::Start(int descriptor, std::function<void()> on_parent_gone) {
  const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (copy < 0 || wake < 0) {
    const int error = errno;
    if (copy >= 0) close(copy);
    if (wake >= 0) close(wake);
    return absl::FailedPreconditionError(
        absl::StrCat("cannot watch the connection to the parent, descriptor ", descriptor, ": ", strerror(error)));
  }
  return std::unique_ptr<ParentWatch>(new ParentWatch(copy, wake, std::move(on_parent_gone)));
}

ParentWatch::ParentWatch(int descriptor, int wake, std::function<void()> on_parent_gone)
    : descriptor_(descriptor),
      wake_(wake),
      on_parent_gone_(std::move(on_parent_gone)),
      exit_after_milliseconds_(static_cast<int>(absl::ToInt64Milliseconds(limits::kParentGoneDrain))),
      thread_(StartThread([this] { Run(); })) {}

ParentWatch::~ParentWatch() {
  stopping_.store(true, std::memory_order_release);  // pairs with Run's loads
  eventfd_write(wake_, 1);
  thread_.join();
  close(descriptor_);
  close(wake_);
}

void ParentWatch::ParentIsGone() {
  gone_.store(true, std::memory_order_release);  // pairs with Run's load
  eventfd_write(wake_, 1);
}

void ParentWatch::Leaving(absl::Duration within) {
  // Relaxed: whether Run sees it in time or not, the process ends.
  exit_after_milliseconds_.store(static_cast<int>(absl::ToInt64Milliseconds(within)), std::memory_order_relaxed);
}

void ParentWatch::Run() {
  std::array<pollfd, 2> wait = {
      {{.fd = descriptor_, .events = POLLRDHUP, .revents = 0}, {.fd = wake_, .events = POLLIN, .revents = 0}}};
  while (true) {
    const int ready = poll(wait.data(), wait.size(), -1);
    if (stopping_.load(std::memory_order_acquire)) return;
    if (gone_.load(std::memory_order_acquire) || (ready > 0 && wait[0].revents != 0)) break;
  }
  on_parent_gone_();
  // What this process has left to do must not keep it: nobody would ever end it.
  eventfd_t value = 0;
  eventfd_read(wake_, &value);
  const int timeout = exit_after_milliseconds_.load(std::memory_order_relaxed);
  while (!stopping_.load(std::memory_order_acquire)) {
    if (poll(&wait[1], 1, timeout) != 0) continue;
    fprintf(stderr, "E the parent of this node is gone; the process exits\n");
    _exit(kOrphanExitStatus);
  }
}

ProcessLinkCalls StartProcessLink(ActorSystem& system, ProcessLinkOptions options) {
  auto found = std::make_shared<Handover<ProcessParentRef>>();
  const auto link = system.Spawn<ProcessLink>(std::move(options), found);
  return ProcessLink::CallsOf(link.pid(), std::move(found));
}

}  // namespace understudy::internal

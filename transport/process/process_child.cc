#include "understudy/transport/process/process_child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/check.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/proto/process.actor.h"
#include "understudy/proto/process.pb.h"
#include "understudy/proto/supervision_report.pb.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/crash_note.h"
#include "understudy/transport/grpc/grpc_stream.h"
#include "understudy/transport/process/crash_quota.h"
#include "understudy/transport/process/parent_invitation.h"
#include "understudy/transport/ref_proto.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/sockets/socket_thread.h"
#include "understudy/transport/sockets/thread.h"

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

// Sends this process's messages to the parent. It is used by the link's actor and by other
// threads, which may call before the actor has found the parent or after it has ended.
class ParentTold {
 public:
  // Sends `message`, the first message to the parent.
  void Attached(const proto::ProcessParentRef& parent, proto::ProcessAttached message) {
    absl::MutexLock lock(&mu_);
    parent_ = parent;
    parent_->attached().Send(std::move(message)).IgnoreError();  // fails only with the session, which is watched
    if (is_ready_) TellStarted();
  }
  // The actor has ended, and the system with it.
  void Closed() {
    absl::MutexLock lock(&mu_);
    is_closed_ = true;
  }
  void Ready() {
    absl::MutexLock lock(&mu_);
    if (std::exchange(is_ready_, true)) return;
    if (parent_.has_value()) TellStarted();
  }
  void Crashed(const CrashReport& crash, const ExitReason& reason) {
    absl::MutexLock lock(&mu_);
    if (!parent_.has_value()) return;
    const absl::optional<int64_t> left_out = quota_.Take(crash.time);
    if (!left_out.has_value()) return;
    proto::ProcessCrash message;
    *message.mutable_crash() = ToProto(crash);
    for (proto::HandledMessage& handled : *message.mutable_crash()->mutable_messages()) handled.clear_contents();
    *message.mutable_reason() = ToProto(reason);
    message.set_left_out(*left_out);
    parent_->crashed().Send(std::move(message)).IgnoreError();
  }
  void Leaving(absl::Duration within) {
    const auto settled = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      return parent_.has_value() || !is_ready_ || is_closed_;
    };
    absl::MutexLock lock(&mu_);
    mu_.AwaitWithTimeout(absl::Condition(&settled), within);
    if (parent_.has_value()) parent_->leaving().Send(proto::ProcessLeaving()).IgnoreError();
  }

 private:
  void TellStarted() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    parent_->started().Send(proto::ProcessStarted()).IgnoreError();
  }

  absl::Mutex mu_;
  absl::optional<proto::ProcessParentRef> parent_ ABSL_GUARDED_BY(mu_);
  bool is_ready_ ABSL_GUARDED_BY(mu_) = false;
  bool is_closed_ ABSL_GUARDED_BY(mu_) = false;
  CrashQuota quota_ ABSL_GUARDED_BY(mu_);
};

// Talks to the proxy of this process.
class ProcessLink final : public proto::ProcessChildActor {
 public:
  ProcessLink(ProcessLinkOptions options, std::shared_ptr<ParentTold> told)
      : options_(std::move(options)), told_(std::move(told)) {}
  ~ProcessLink() override { told_->Closed(); }

  StartResult Start() override { return linked_; }

 private:
  void StopAsked(const proto::ProcessStop&) { options_.on_stop(); }
  void PeerTold(const proto::PeerAddress& peer) { options_.on_peer(peer.node(), peer.address()); }

  const ProcessLinkOptions options_;
  const std::shared_ptr<ParentTold> told_;
  Behavior linked_{"linked", On(stop, &ProcessLink::StopAsked), On(meet_peer, &ProcessLink::PeerTold)};
};

}  // namespace

const absl::StatusOr<ParentInvitation>* ReceivedInvitation() {
  static const auto* const received = new absl::optional<absl::StatusOr<ParentInvitation>>(ReadInvitation());
  return received->has_value() ? &received->value() : nullptr;
}

ParentDialer::~ParentDialer() {
  if (const int descriptor = descriptor_.exchange(-1); descriptor >= 0) close(descriptor);
}

std::unique_ptr<FrameStream> ParentDialer::Dial(absl::string_view node, absl::string_view address,
                                                FrameStream::Events* events) {
  if (address != kAddress) return others_->Dial(node, address, events);
  const int descriptor = descriptor_.exchange(-1);
  if (descriptor >= 0) return DialOver(descriptor, events);
  return FailedStream(absl::UnavailableError("the connection to the parent has ended, and there is no other"), events);
}

StreamIdentity ParentDialer::IdentityAt(absl::string_view node, absl::string_view address) const {
  return address == kAddress ? StreamIdentity::Parent(node) : others_->IdentityAt(node, address);
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
      exit_after_milliseconds_(PollTimeout(limits::kParentGoneDrain)),
      thread_(StartThread([this] { Run(); })) {}

ParentWatch::~ParentWatch() {
  stopping_.store(true, std::memory_order_release);  // pairs with Run's loads
  eventfd_write(wake_, 1);
  thread_.join();
  close(descriptor_);
  close(wake_);
}

void ParentWatch::ParentIsGone() {
  if (gone_.exchange(true, std::memory_order_release)) return;  // pairs with Run's load
  eventfd_write(wake_, 1);
}

void ParentWatch::Leaving(absl::Duration within) {
  // Relaxed: if Run does not see the value in time it uses the default, and the process ends all the same.
  exit_after_milliseconds_.store(PollTimeout(within), std::memory_order_relaxed);
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
  // Exits even if the process has not drained: without a parent no other process would end it.
  const auto exit_at = std::chrono::steady_clock::now() +
                       std::chrono::milliseconds(exit_after_milliseconds_.load(std::memory_order_relaxed));
  while (!stopping_.load(std::memory_order_acquire)) {
    eventfd_t told = 0;  // clears a late ParentIsGone, so that poll waits for the destructor only
    eventfd_read(wake_, &told);
    if (stopping_.load(std::memory_order_acquire)) return;
    // Computed anew in each round, because a late ParentIsGone or a signal to the process may end poll early.
    const int left = PollTimeout(absl::FromChrono(exit_at - std::chrono::steady_clock::now()));
    if (poll(&wait[1], 1, left) != 0) continue;
    fprintf(stderr, "E the parent of this node is gone; the process exits\n");
    _exit(kOrphanExitStatus);
  }
}

ProcessLinkCalls StartProcessLink(ActorSystem& system, ProcessLinkOptions options) {
  auto told = std::make_shared<ParentTold>();
  system.SubscribeCrashes([told](const CrashReport& crash, const ExitReason& reason) { told->Crashed(crash, reason); });
  const Pid link = system.Spawn<ProcessLink>(options, told).pid();
  const absl::StatusOr<proto::ProcessParentRef> parent = RefFromProto<proto::ProcessParentRef>(options.proxy, link);
  UNDERSTUDY_CHECK(parent.ok(), "ParentInvitation::Parse passed a Ref: ", parent.status().message());
  proto::ProcessAttached attached;
  *attached.mutable_child() = ToProto(link);
  attached.set_address(options.address);
  return {.connected = [told, parent = *parent, attached] { told->Attached(parent, attached); },
          .ready = [told] { told->Ready(); },
          .leaving = [told](absl::Duration within) { told->Leaving(within); }};
}

}  // namespace understudy::internal

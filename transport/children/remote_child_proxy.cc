#include "understudy/transport/children/remote_child_proxy.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "google/protobuf/empty.pb.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/context.h"
#include "understudy/actors/error.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pending.h"
#include "understudy/actors/pending_group.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/spawner.h"
#include "understudy/actors/task.h"
#include "understudy/proto/child_host.pb.h"
#include "understudy/proto/child_host.ref.h"
#include "understudy/transport/children/child_host_name.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/ref_proto.h"

namespace understudy::internal {
namespace {

using proto::ChildHostRef;

constexpr absl::Duration kRoomLook = absl::Milliseconds(20);

// The unhandled mail of a child that has ended, which its host keeps; the destructor tells the host to drop it. Any
// thread.
class LeftThere {
 public:
  LeftThere(ChildHostRef host, uint64_t number) : host_(host), number_(number) {}
  // The host ignores the request if the child's next life has taken the mail.
  ~LeftThere() {
    proto::DropUnhandledMail request;
    request.set_unhandled_mail(number_);
    host_.drop().Send(std::move(request)).IgnoreError();  // a host that is gone has dropped the mail
  }
  LeftThere(const LeftThere&) = delete;
  LeftThere& operator=(const LeftThere&) = delete;

  uint64_t NumberAt(const ChildHostRef& host) const { return host.pid() == host_.pid() ? number_ : 0; }

 private:
  const ChildHostRef host_;
  const uint64_t number_;
};

class RemoteChildProxy final : public Actor {
 public:
  explicit RemoteChildProxy(NodeChild child) : child_(std::move(child)) {}

  // The proxy handles exits while the child starts: its Start returns at once, and FinishStart follows when the child
  // has started.
  StartResult Start() override {
    context().TrapExits(&RemoteChildProxy::LinkedExit, &RemoteChildProxy::ParentExit);
    context().TrapStops(&RemoteChildProxy::StopRequested);
    context().Tell(begin_, Begin());
    return StartResult::Starting(running_);
  }

 private:
  struct Begin {};
  struct Ending {
    ExitReason reason;
  };

  // Finds a host, starts the child and awaits its end. A step that returns false has ended this actor, because there is
  // no child.
  Task<> Live(const Begin&);
  Task<bool> FindHost();
  Task<bool> StartChild();
  bool Started(const absl::StatusOr<proto::HostedChildStart>& answer);
  Task<> AwaitEnd();

  void LinkedExit(const ExitEvent& exit) {
    if (!exit.reason.is_normal()) ForwardExit(exit.reason);
  }
  void ParentExit(const ExitEvent& exit) { ForwardExit(exit.reason); }
  void StopRequested(const StopRequest& request) { ForwardExit(request.reason); }
  void ForwardExit(const ExitReason& reason) { context().Tell(ending_, Ending{reason}); }
  Task<> AskToStop(Ending ending);
  proto::StartHostedChild Request();
  // Records the number under which the host keeps the child's unhandled mail; 0 if it keeps none.
  void SetLeft(uint64_t number) {
    if (child_.left == nullptr) return;
    *child_.left = number == 0 ? nullptr : std::make_shared<const LeftThere>(host_, number);
  }
  // A pause of kRoomLook before the next try when the host's mailbox is full, as when thousands of proxies call at
  // once. It is a lookup of a name that no actor has, so it ends by its timeout.
  PendingLookup<ChildHostRef> Pause() { return context().Lookup<ChildHostRef>(ChildHostName(""), kRoomLook); }

  // True if `status` says that the host, and with it all its children, has ended.
  static bool HostHasEnded(const absl::Status& status) {
    return IsCalleeExited(status) || IsNoProcess(status) || IsStopping(status) || IsUnanswered(status);
  }
  // The exit reason of the child when a call to the host failed with `status`.
  ExitReason ReasonOf(const absl::Status& status) const;
  bool Fails(ExitReason reason) {
    context().StopAs(std::move(reason));
    return false;
  }

  const NodeChild child_;
  std::string node_;  // the host's node
  ChildHostRef host_;
  bool is_asked_ = false;  // the host was asked to start the child, so the child may exist
  absl::optional<ExitReason> stopping_;
  ExitReason lost_;
  MonitorHandle watch_;
  Mailbox<"Begin", Begin> begin_{this};
  Mailbox<"Ending", Ending> ending_{this};
  Behavior running_{"running", On(begin_, &RemoteChildProxy::Live).Interleaved(),
                    On(ending_, &RemoteChildProxy::AskToStop).Interleaved()};
};

proto::StartHostedChild RequestFor(const NodeChild& child) {
  proto::StartHostedChild request;
  request.set_factory(child.factory);
  if (!child.argument_type.empty()) {
    request.mutable_argument()->set_type_url(absl::StrCat("type.googleapis.com/", child.argument_type));
    request.mutable_argument()->set_value(child.argument);
  }
  request.set_published_as(child.published_as);
  request.set_label(child.label);
  if (child.stop_within != absl::InfiniteDuration()) {
    request.set_stop_within_nanos(absl::ToInt64Nanoseconds(child.stop_within));
  }
  return request;
}

Task<> RemoteChildProxy::Live(const Begin&) {
  auto finding = FindHost();
  const bool has_host = co_await finding;
  if (!has_host) co_return;
  auto starting = StartChild();
  const bool has_started = co_await starting;
  if (!has_started) co_return;
  auto awaiting = AwaitEnd();
  co_await awaiting;
}

Task<bool> RemoteChildProxy::FindHost() {
  // The first node, in the given order, that has a host now; if none has, the node whose host appears first.
  ChildHostRef found;
  for (const std::string& node : child_.nodes) {
    const auto looking = context().Lookup<ChildHostRef>(ChildHostName(node), absl::ZeroDuration());
    const absl::StatusOr<ChildHostRef> host = co_await looking;
    if (!host.ok()) continue;
    found = *host;
    node_ = node;
    break;
  }
  if (node_.empty()) {
    std::vector<Pending<NameRecord>> looking;
    looking.reserve(child_.nodes.size());
    for (const std::string& node : child_.nodes) {
      looking.emplace_back(context().Lookup<ChildHostRef>(ChildHostName(node), child_.connect_within).id());
    }
    auto first = FirstOk(looking);
    const absl::StatusOr<NameRecord> host = co_await first;
    if (!host.ok()) {
      co_return Fails(ExitReason::NoConnection(
          absl::StrCat(child_.nodes.size() == 1 ? "node " : "none of the nodes ", absl::StrJoin(child_.nodes, ", "),
                       child_.nodes.size() == 1 ? " is not" : " is", " connected and hosts children; waited for ",
                       absl::FormatDuration(child_.connect_within))));
    }
    found = ChildHostRef(host->pid);
    node_ = host->name.substr(ChildHostName("").size());
  }
  if (NodeNameOf(found.pid()) != node_) {
    co_return Fails(ExitReason::NotPermitted(
        absl::StrCat("node ", NodeNameOf(found.pid()), " says that it hosts the children of node ", node_)));
  }
  host_ = found;
  co_return true;
}

Task<bool> RemoteChildProxy::StartChild() {
  while (true) {
    is_asked_ = true;
    const auto asking = host_.start().Ask(Request(), limits::kAskTimeoutMax);
    const absl::StatusOr<proto::HostedChildStart> answer = co_await asking;
    if (!IsFull(answer.status())) co_return Started(answer);
    is_asked_ = false;
    if (stopping_.has_value()) co_return Fails(*stopping_);
    const auto pause = Pause();
    (void)co_await pause;
  }
}

proto::StartHostedChild RemoteChildProxy::Request() {
  proto::StartHostedChild request = RequestFor(child_);
  if (child_.left == nullptr) return request;
  *request.mutable_supervisor() = ToProto(context().Parent());
  const auto* const left = static_cast<const LeftThere*>(child_.left->get());
  if (left != nullptr) request.set_unhandled_mail(left->NumberAt(host_));
  return request;
}

bool RemoteChildProxy::Started(const absl::StatusOr<proto::HostedChildStart>& answer) {
  if (!answer.ok()) return Fails(ReasonOf(answer.status()));
  SetLeft(answer->unhandled_mail());
  switch (answer->result_case()) {
    case proto::HostedChildStart::kStarted: {
      const absl::StatusOr<Pid> pid = PidFromProto(answer->started(), context().Self());
      if (!pid.ok()) return Fails(ExitReason::Failed(pid.status()));
      if (child_.on_started != nullptr) child_.on_started(*pid);
      context().FinishStart();
      return true;
    }
    case proto::HostedChildStart::kDeclined:
      context().DeclineStart();
      return false;
    case proto::HostedChildStart::kFailed: {
      const absl::StatusOr<ExitReason> reason = FromProto(answer->failed());
      return Fails(reason.ok() ? *reason : ExitReason::Failed(reason.status()));
    }
    case proto::HostedChildStart::RESULT_NOT_SET:
      break;
  }
  return Fails(ExitReason::Failed(absl::InternalError(
      absl::StrCat("node ", node_, " does not say what became of the start; it speaks another version"))));
}

Task<> RemoteChildProxy::AwaitEnd() {
  while (true) {
    const auto waiting = host_.wait().Ask(proto::AwaitHostedChild(), limits::kAskTimeoutMax);
    const absl::StatusOr<proto::HostedChildEnd> end = co_await waiting;
    if (IsExpired(end.status())) continue;  // the child has outlived kAskTimeoutMax: ask again
    if (IsFull(end.status())) {
      const auto pause = Pause();
      (void)co_await pause;
      continue;
    }
    if (HostHasEnded(end.status())) {
      // Ends at the host's Down, which comes when its name is gone, so that the child's next life does not find this
      // host again.
      lost_ = ReasonOf(end.status());
      watch_ = context().Monitor(host_, [this](const Down&) { context().StopAs(lost_); });
    } else if (!end.ok()) {
      context().StopAs(ReasonOf(end.status()));
    } else {
      SetLeft(end->unhandled_mail());
      const absl::StatusOr<ExitReason> reason = FromProto(end->reason());
      context().StopAs(reason.ok() ? *reason : ExitReason::Failed(reason.status()));
    }
    co_return;
  }
}

Task<> RemoteChildProxy::AskToStop(Ending ending) {
  stopping_ = ending.reason;
  if (!is_asked_) {
    context().Stop(ending.reason);
    co_return;
  }
  proto::StopHostedChild request;
  *request.mutable_reason() = ToProto(ending.reason);
  while (true) {
    const auto asking = host_.stop().Ask(request, limits::kAskTimeoutMax);
    const absl::StatusOr<google::protobuf::Empty> answer = co_await asking;
    if (!IsFull(answer.status()))
      co_return;  // other errors need no handling here: Live awaits the start and the end, and notices a lost host
    const auto pause = Pause();
    (void)co_await pause;
  }
}

ExitReason RemoteChildProxy::ReasonOf(const absl::Status& status) const {
  if (IsNotPermitted(status)) return ExitReason::NotPermitted(status.message());
  if (IsNoConnection(status)) return ExitReason::NoConnection(absl::StrCat("node ", node_, ": ", status.message()));
  if (HostHasEnded(status)) {
    return ExitReason::NoConnection(absl::StrCat("node ", node_, " hosts no children any more: ", status.message()));
  }
  return ExitReason::Failed(status);
}

}  // namespace

absl::StatusOr<std::function<std::unique_ptr<Actor>()>> RemoteChildProxyMaker(const NodeChild& child) {
  if (child.nodes.empty())
    return absl::InvalidArgumentError("a child on another node needs the name of at least one node");
  for (const std::string& node : child.nodes) {
    if (absl::Status valid = ValidateNodeName(node); !valid.ok()) return valid;
  }
  for (const auto& [field, time] :
       {std::pair("connect_within", child.connect_within), std::pair("stop_within", child.stop_within)}) {
    if (time >= absl::ZeroDuration()) continue;
    return absl::InvalidArgumentError(absl::StrCat(field, " of a child on ", absl::StrJoin(child.nodes, ", "), " is ",
                                                   absl::FormatDuration(time), ": expected 0 or more"));
  }
  return [child]() -> std::unique_ptr<Actor> { return std::make_unique<RemoteChildProxy>(child); };
}

}  // namespace understudy::internal

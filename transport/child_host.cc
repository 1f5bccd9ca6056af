#include "understudy/transport/child_host.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "google/protobuf/empty.pb.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/context.h"
#include "understudy/actors/error.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/replier.h"
#include "understudy/actors/spawner.h"
#include "understudy/actors/task.h"
#include "understudy/actors/unhandled_mail.h"
#include "understudy/proto/child_host.actor.h"
#include "understudy/proto/child_host.pb.h"
#include "understudy/supervision/actor_factories.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_start.h"
#include "understudy/transport/children/child_host_name.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/ref_proto.h"

namespace understudy {
namespace {

using internal::NodeNameOf;
using proto::ChildHostActor;

class ChildHost final : public ChildHostActor {
 public:
  ChildHost(std::shared_ptr<const ActorFactories> factories, ChildHostOptions options)
      : factories_(std::move(factories)), options_(options) {}

  StartResult Start() override {
    context().TrapExits([](const ExitEvent&) {}, &ChildHost::ParentExit);
    context().TrapStops(&ChildHost::StopRequested);
    return Publish();
  }

 private:
  using StartReplier = Replier<proto::HostedChildStart>;
  using WaitReplier = Replier<proto::HostedChildEnd>;
  struct Hosted {
    Pid child;
    std::string label;
    absl::Duration stop_within;
    MonitorHandle proxy;
    absl::optional<StartReplier> starting;
    absl::optional<WaitReplier> waiting;
    absl::optional<ExitReason> ended;  // set if the child has ended and its proxy has not called Wait yet
    bool is_orphan = false;            // its proxy has ended
    bool has_declined = false;
    Pid supervisor;               // null if the child's unhandled mail is not kept
    uint64_t unhandled_mail = 0;  // key in left_ of the mail that the child left; 0 if none is kept
  };
  // The unhandled mail of a child that has ended, kept for the next life of that child.
  struct Left {
    UnhandledMail unhandled_mail;
    Pid supervisor;
    MonitorHandle watch;  // drops the mail when the supervisor ends
  };
  using Children = std::map<Pid, Hosted>;  // by proxy

  Task<StartResult> Publish() {
    node_ = std::string(NodeNameOf(context().Self()));
    const auto publishing = context().Publish(internal::ChildHostName(node_));
    absl::Status published = co_await publishing;
    if (!published.ok()) co_return StartResult(std::move(published));
    co_return StartResult(hosting_);
  }

  // Handlers of the calls that proxies make (children/remote_child_proxy.h).
  void StartChild(const proto::StartHostedChild& request, StartReplier replier);
  absl::StatusOr<std::shared_ptr<const ChildStart>> StartOf(const proto::StartHostedChild& request, Pid proxy);
  void AwaitChild(const proto::AwaitHostedChild& request, WaitReplier replier);
  void StopChild(const proto::StopHostedChild& request, Replier<google::protobuf::Empty> replier);

  void DropUnhandledMail(const proto::DropUnhandledMail& request) { left_.erase(request.unhandled_mail()); }

  // Handlers of the outcomes and Downs of children and proxies.
  void Outcome(const SpawnOutcome& outcome);
  void ChildDown(Down down);
  uint64_t Keep(UnhandledMail unhandled_mail, const Hosted& hosted);
  UnhandledMail TakeLeft(uint64_t number, Pid supervisor);
  void ProxyDown(const Down& down);
  // Sends the child a parent's exit with `reason`, and kills it when its shutdown time is over.
  void EndChild(const Hosted& hosted, const ExitReason& reason);
  Children::iterator FindChild(Pid child);
  void Forget(Children::iterator hosted);

  void ParentExit(const ExitEvent& exit) { StopAll(exit.reason); }
  void StopRequested(const StopRequest& request) { StopAll(request.reason); }
  void StopAll(const ExitReason& reason);
  void StopWhenAllHaveEnded() {
    if (stopping_.has_value() && proxies_.empty()) context().Stop(*stopping_);
  }
  // The answer to proxies while the host stops: NoConnection, as if the node were lost, so that a supervisor restarts
  // the child on another node.
  absl::Status StoppingError() const {
    return MakeError(ErrorKind::kNoConnection,
                     absl::StrCat("node ", node_, " stops the children that it hosts: ", stopping_->ToString()));
  }
  void Log(LogSeverity severity, const Hosted& hosted, Pid proxy, absl::string_view what);

  const std::shared_ptr<const ActorFactories> factories_;
  const ChildHostOptions options_;
  std::string node_;
  Children children_;
  std::map<Pid, Pid> proxies_;           // by child
  std::map<uint64_t, Left> left_;        // by a random number that other nodes cannot guess
  absl::optional<ExitReason> stopping_;  // the reason with which the host stops when its last child has ended
  Behavior hosting_{"hosting", On(start, &ChildHost::StartChild), On(wait, &ChildHost::AwaitChild),
                    On(stop, &ChildHost::StopChild), On(drop, &ChildHost::DropUnhandledMail)};
};

// An exit with reason Normal does not end its receiver, so Shutdown is sent in its place.
ExitReason AsParentsExit(const ExitReason& reason) { return reason.is_normal() ? ExitReason::Shutdown() : reason; }

// True for a proxy that ended without a chance to forward an exit to its child: it was killed, or had ended before the
// host monitored it.
bool IsSudden(const ExitReason& reason) {
  return reason.kind() == ExitReason::Kind::kKilled || reason.kind() == ExitReason::Kind::kStartTimeout ||
         reason.kind() == ExitReason::Kind::kNoProcess;
}

std::string KillTimer(Pid child) { return absl::StrCat("kill ", child.ToString()); }

absl::StatusOr<std::shared_ptr<const ChildStart>> ChildHost::StartOf(const proto::StartHostedChild& request,
                                                                     Pid proxy) {
  const absl::string_view from = NodeNameOf(proxy);
  if (proxy.is_null()) return absl::InvalidArgumentError("the request to start a child comes from no actor");
  if (proxy.node() != context().Self().node()) {
    Spawner* const spawner = context().Spawner();
    if (spawner == nullptr || !spawner->Grants(proxy)) {
      return MakeError(ErrorKind::kNotPermitted,
                       absl::StrCat("node ", node_, " does not let node ", from, " start actors; it needs a grant"));
    }
  }
  if (stopping_.has_value()) return StoppingError();
  if (children_.contains(proxy)) {
    return absl::FailedPreconditionError(
        absl::StrCat(proxy.ToString(), " has a child already; a proxy is for one child"));
  }
  if (children_.size() >= options_.children_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("node ", node_, " hosts ", children_.size(), " children already, its limit"));
  }
  if (request.label().size() > limits::kNameBytesMax || request.stop_within_nanos() < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the request to start a child has a label of ", request.label().size(), " bytes (at most ",
        limits::kNameBytesMax, ") and a time to stop of ", request.stop_within_nanos(), " ns (at least 0)"));
  }
  FactoryCall call{.name = request.factory()};
  if (request.has_argument()) {
    const std::string& url = request.argument().type_url();
    call.argument_type = url.substr(url.rfind('/') + 1);
    call.argument = request.argument().value();
  }
  absl::StatusOr<std::shared_ptr<const ChildStart>> start = factories_->StartOf(call);
  if (!start.ok()) {
    return absl::Status(start.status().code(), absl::StrCat("on node ", node_, ": ", start.status().message()));
  }
  return start;
}

void ChildHost::StartChild(const proto::StartHostedChild& request, StartReplier replier) {
  const Pid proxy = replier.asker();
  const absl::StatusOr<std::shared_ptr<const ChildStart>> start = StartOf(request, proxy);
  if (!start.ok()) {
    context().Log().Write(LogSeverity::kWarning,
                          absl::StrCat("node ", node_, " does not start child '", request.label(), "' for ",
                                       proxy.ToString(), ": ", start.status().message()));
    replier.Reply(start.status());
    return;
  }
  Hosted& hosted = children_[proxy];
  hosted.label = request.label();
  hosted.stop_within =
      request.has_stop_within_nanos() ? absl::Nanoseconds(request.stop_within_nanos()) : absl::InfiniteDuration();
  hosted.starting = std::move(replier);
  if (request.has_supervisor()) {
    const absl::StatusOr<Pid> supervisor = PidFromProto(request.supervisor(), context().Self());
    if (supervisor.ok() && supervisor->place() == proxy.place()) hosted.supervisor = *supervisor;
  }
  SpawnOptions options = SpawnOptions().WithUnhandledMail(TakeLeft(request.unhandled_mail(), hosted.supervisor));
  options.published_as = request.published_as();
  options.names_kept_by = hosted.supervisor;
  options.shutdown_within = hosted.stop_within;
  options.label = absl::StrCat(request.label(), " (", request.factory(), " for ", proxy.ToString(), ")");
  hosted.child = context().SpawnMade(std::move(options).OnOutcome(&ChildHost::Outcome).OnDown(&ChildHost::ChildDown),
                                     (*start)->make());
  proxies_[hosted.child] = proxy;
  hosted.proxy = context().Monitor(proxy, &ChildHost::ProxyDown);
}

void ChildHost::AwaitChild(const proto::AwaitHostedChild&, WaitReplier replier) {
  const auto hosted = children_.find(replier.asker());
  if (hosted == children_.end()) {
    replier.Reply(
        MakeError(ErrorKind::kNoProcess, absl::StrCat(replier.asker().ToString(), " has no child on node ", node_)));
    return;
  }
  hosted->second.waiting = std::move(replier);
  if (hosted->second.ended.has_value()) Forget(hosted);
}

void ChildHost::StopChild(const proto::StopHostedChild& request, Replier<google::protobuf::Empty> replier) {
  const absl::StatusOr<ExitReason> reason = FromProto(request.reason());
  const auto hosted = children_.find(replier.asker());
  if (hosted != children_.end() && reason.ok()) context().Exit(hosted->second.child, AsParentsExit(*reason));
  replier.Reply(reason.ok() ? absl::StatusOr<google::protobuf::Empty>(google::protobuf::Empty()) : reason.status());
}

ChildHost::Children::iterator ChildHost::FindChild(Pid child) {
  const auto proxy = proxies_.find(child);
  return proxy == proxies_.end() ? children_.end() : children_.find(proxy->second);
}

void ChildHost::Outcome(const SpawnOutcome& outcome) {
  const auto hosted = FindChild(outcome.pid);
  if (hosted == children_.end()) return;
  // If the child failed or declined, its Down comes next and has its unhandled mail; Forget answers the proxy then.
  hosted->second.has_declined = outcome.kind == SpawnOutcome::Kind::kIgnored;
  if (outcome.kind != SpawnOutcome::Kind::kStarted) return;
  absl::optional<StartReplier> replier = std::exchange(hosted->second.starting, absl::nullopt);
  proto::HostedChildStart answer;
  *answer.mutable_started() = ToProto(outcome.pid);
  Log(LogSeverity::kInfo, hosted->second, hosted->first, "started");
  if (replier.has_value()) replier->Reply(std::move(answer));
}

// Keeps the unhandled mail of an ended child and returns its key in left_, or 0 if it is not kept. The mail is kept
// until the child's next life takes it, its supervisor ends, or DropUnhandledMail comes for it.
uint64_t ChildHost::Keep(UnhandledMail unhandled_mail, const Hosted& hosted) {
  const bool is_kept = !unhandled_mail.empty() && !hosted.supervisor.is_null() && !hosted.is_orphan &&
                       !stopping_.has_value() && left_.size() < options_.children_max;
  if (!is_kept) return 0;
  uint64_t number = 0;
  while (number == 0 || left_.contains(number)) number = context().Random().Next();
  left_[number] = {.unhandled_mail = std::move(unhandled_mail), .supervisor = hosted.supervisor, .watch = {}};
  left_[number].watch = context().Monitor(hosted.supervisor, [this, number](const Down&) { left_.erase(number); });
  return number;
}

UnhandledMail ChildHost::TakeLeft(uint64_t number, Pid supervisor) {
  const auto left = left_.find(number);
  if (left == left_.end() || supervisor.is_null() || left->second.supervisor != supervisor) return UnhandledMail();
  return std::move(left_.extract(left).mapped().unhandled_mail);
}

void ChildHost::ChildDown(Down down) {
  const auto hosted = FindChild(down.pid);
  if (hosted == children_.end()) return;
  context().CancelTimer(KillTimer(down.pid));
  Log(down.reason.is_abnormal() ? LogSeverity::kWarning : LogSeverity::kInfo, hosted->second, hosted->first,
      absl::StrCat("ended: ", down.reason.ToString()));
  proxies_.erase(down.pid);
  hosted->second.ended = down.reason;
  hosted->second.unhandled_mail = Keep(std::move(down.unhandled_mail), hosted->second);
  if (hosted->second.waiting.has_value() || hosted->second.starting.has_value() || hosted->second.is_orphan) {
    Forget(hosted);
  }
  StopWhenAllHaveEnded();
}

// Answers the proxy's pending call, if any, and forgets the child. While the host stops the answer is StoppingError in
// place of the child's own reason.
void ChildHost::Forget(Children::iterator hosted) {
  Hosted gone = std::move(hosted->second);
  children_.erase(hosted);
  if (gone.is_orphan) return;
  const absl::Status stopped = stopping_.has_value() ? StoppingError() : absl::OkStatus();
  if (gone.starting.has_value()) {
    proto::HostedChildStart answer;
    answer.set_unhandled_mail(gone.unhandled_mail);
    if (gone.has_declined) {
      answer.set_declined(true);
    } else {
      *answer.mutable_failed() = ToProto(*gone.ended);
    }
    gone.starting->Reply(stopped.ok() ? absl::StatusOr<proto::HostedChildStart>(std::move(answer)) : stopped);
  } else if (gone.waiting.has_value()) {
    proto::HostedChildEnd end;
    *end.mutable_reason() = ToProto(*gone.ended);
    end.set_unhandled_mail(gone.unhandled_mail);
    gone.waiting->Reply(stopped.ok() ? absl::StatusOr<proto::HostedChildEnd>(std::move(end)) : stopped);
  }
}

void ChildHost::ProxyDown(const Down& down) {
  const auto hosted = children_.find(down.pid);
  if (hosted == children_.end()) return;
  hosted->second.is_orphan = true;
  hosted->second.starting.reset();
  hosted->second.waiting.reset();
  if (hosted->second.ended.has_value()) {
    left_.erase(hosted->second.unhandled_mail);
    children_.erase(hosted);
  } else if (down.reason.kind() == ExitReason::Kind::kNoConnection) {
    EndChild(hosted->second,
             ExitReason::NoConnection(absl::StrCat("the node of its supervisor is lost: ", down.reason.detail())));
  } else if (IsSudden(down.reason)) {
    context().Kill(hosted->second.child);
  } else {
    EndChild(hosted->second, AsParentsExit(down.reason));  // the proxy ended by an error of its own
  }
}

void ChildHost::EndChild(const Hosted& hosted, const ExitReason& reason) {
  if (hosted.stop_within <= absl::ZeroDuration()) {
    context().Kill(hosted.child);
    return;
  }
  context().Exit(hosted.child, reason);
  if (hosted.stop_within == absl::InfiniteDuration()) return;
  const absl::Status armed = context().StartTimer(KillTimer(hosted.child), hosted.stop_within,
                                                  [this, child = hosted.child] { context().Kill(child); });
  if (!armed.ok()) context().Kill(hosted.child);
}

void ChildHost::StopAll(const ExitReason& reason) {
  if (stopping_.has_value()) return;
  stopping_ = reason;
  left_.clear();
  // Unregistered before the children end, because a supervisor that learns of an end looks for a host to start the
  // child again, and must not find this one.
  context().Unregister(internal::ChildHostName(node_));
  for (const auto& [proxy, hosted] : children_) {
    if (!hosted.ended.has_value()) EndChild(hosted, ExitReason::Shutdown());
  }
  StopWhenAllHaveEnded();
}

void ChildHost::Log(LogSeverity severity, const Hosted& hosted, Pid proxy, absl::string_view what) {
  if (!context().Log().Wants(severity)) return;
  context().Log().Write(severity, absl::StrCat("hosted child '", hosted.label, "' ", hosted.child.ToString(), " of ",
                                               proxy.ToString(), " ", what));
}

}  // namespace

ActorSpec<Ref<Actor>> HostChildren(ActorFactories factories, ChildHostOptions options) {
  ActorSpec<Ref<Actor>> spec;
  spec.make = [held = std::make_shared<const ActorFactories>(std::move(factories)),
               options]() -> std::unique_ptr<Actor> { return std::make_unique<ChildHost>(held, options); };
  spec.options.label = "child host";
  spec.options.shutdown_within = absl::InfiniteDuration();  // each child has its own time
  return spec;
}

}  // namespace understudy

#include "understudy/transport/process/process_spawner.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/events.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/spawner.h"
#include "understudy/proto/process.actor.h"
#include "understudy/proto/process.pb.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/crash_note.h"
#include "understudy/transport/grpc/grpc_stream.h"
#include "understudy/transport/process/os_process.h"
#include "understudy/transport/process/parent_invitation.h"
#include "understudy/transport/process/process_birth.h"
#include "understudy/transport/ref_proto.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session_times.h"
#include "understudy/transport/sockets/socket_folder.h"
#include "understudy/transport/sockets/socket_thread.h"
#include "understudy/transport/sockets/unix_socket.h"

namespace understudy::internal {
namespace {

// Messages that threads of the library send to the proxy.
struct ProcessEnded {
  ExitReason reason;
};
struct StreamGone {
  absl::Status why;
};
struct NoSession {
  std::string why;
};
struct ConnectionClosed {};

// Lets threads of the library send to a proxy that may be gone, together with its system.
class ProxyAddress {
 public:
  explicit ProxyAddress(Pid proxy) : proxy_(proxy) {}
  // Called when the proxy ends. Waits for a Send that is under way.
  void Forget() {
    absl::MutexLock lock(&mu_);
    proxy_ = Pid();
  }
  template <class Mailbox, class M>
  void Send(Mailbox mailbox, M message) {
    absl::MutexLock lock(&mu_);
    if (proxy_.is_null()) return;
    // The send fails if the proxy is ending, which then does not need the message.
    RefOfMailbox(mailbox, proxy_)[mailbox].Send(std::move(message)).IgnoreError();
  }
  // Records that the child has a stream. Returns false if it had one before. AcceptOnce calls this before the stream is
  // accepted, so before any message that arrives on it and before the report of its end.
  bool TakeStream() { return !has_stream_.exchange(true, std::memory_order_acq_rel); }
  // The stream was refused, so no message will arrive on it.
  void LoseStream() { has_stream_.store(false, std::memory_order_release); }
  bool has_stream() const { return has_stream_.load(std::memory_order_acquire); }

 private:
  template <class A, class MailboxOfA>
  static Ref<A> RefOfMailbox(MailboxOfA A::* /*mailbox*/, Pid pid) {
    return Ref<A>(pid);
  }

  absl::Mutex mu_;
  Pid proxy_ ABSL_GUARDED_BY(mu_);
  std::atomic<bool> has_stream_{false};
};

// Waits for the child to close its end of the socketpair. gRPC does not report the end of a connection on which no
// stream has begun.
class ConnectionEnd {
 public:
  // Watches a duplicate of `descriptor`, the parent's end, which the caller still owns. `on_closed` is called at most
  // once, on the SocketThread, perhaps after this object is destroyed.
  static absl::StatusOr<std::unique_ptr<ConnectionEnd>> Watch(int descriptor, std::function<void()> on_closed) {
    auto shared = std::make_shared<Shared>();
    shared->descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (shared->descriptor < 0) return absl::ResourceExhaustedError(absl::StrCat("fcntl: ", strerror(errno)));
    const absl::StatusOr<uint64_t> watch = SocketThread::Process().Watch(
        shared->descriptor, EPOLLRDHUP, [shared, on_closed = std::move(on_closed)](uint32_t) {
          if (shared->Forget()) on_closed();
        });
    if (!watch.ok()) return watch.status();
    shared->watch.store(*watch, std::memory_order_release);  // pairs with Forget's exchange
    return std::unique_ptr<ConnectionEnd>(new ConnectionEnd(std::move(shared)));
  }
  ~ConnectionEnd() { (void)shared_->Forget(); }

 private:
  struct Shared {
    ~Shared() {
      if (descriptor >= 0) close(descriptor);
    }
    // Returns true in the one call that ends the watch. Before `watch` is stored, this returns false and the
    // SocketThread, whose events are level-triggered, calls again.
    bool Forget() {
      const uint64_t number = watch.exchange(0, std::memory_order_acq_rel);
      if (number != 0) SocketThread::Process().Forget(number);
      return number != 0;
    }
    int descriptor = -1;  // the duplicate; closed by the destructor, when the SocketThread does not use it any more
    std::atomic<uint64_t> watch{0};
  };
  explicit ConnectionEnd(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  const std::shared_ptr<Shared> shared_;
};

// The proxy: starts the process, accepts its one stream, and ends with the process.
class ProcessChildProxy final : public proto::ProcessParentActor {
 public:
  ProcessChildProxy(ProcessHost host, ProcessChild child, std::shared_ptr<ProcessDirectory> directory,
                    std::shared_ptr<SocketFolder> sockets)
      : host_(std::move(host)),
        child_(std::move(child)),
        directory_(std::move(directory)),
        sockets_(std::move(sockets)) {}
  // A successor for the same node starts only after this destructor (ProcessDirectory::Add).
  ~ProcessChildProxy() override {
    if (address_ != nullptr) address_->Forget();
    if (!is_expected_) return;
    directory_->Remove(child_.node_name);
    host_.forget(child_.node_name);
  }

  StartResult Start() override {
    address_ = std::make_shared<ProxyAddress>(context().Self());
    context().TrapExits(&ProcessChildProxy::LinkedExit, &ProcessChildProxy::ParentExit);
    context().TrapStops(&ProcessChildProxy::StopRequested);
    absl::Status begun = Expect();
    if (begun.ok()) begun = StartProcess();
    if (!begun.ok()) return begun;
    return StartResult::Starting(running_);
  }

  static void TellSessionFailed(Pid proxy, absl::string_view why) {
    understudy::Ref<ProcessChildProxy>(proxy)[&ProcessChildProxy::no_session_].Send({std::string(why)}).IgnoreError();
  }
  static void TellPeerChanged(Pid proxy, const proto::PeerAddress& peer) {
    // The send fails if the proxy has ended, which then does not need the message.
    understudy::Ref<ProcessChildProxy>(proxy)[&ProcessChildProxy::peer_changed_].Send(peer).IgnoreError();
  }

 private:
  absl::Status Expect();
  absl::Status StartProcess();

  void Attached(const proto::ProcessAttached& message);
  void PeerChanged(const proto::PeerAddress& peer) {
    if (process_child_.has_value()) process_child_->meet_peer().Tell(peer);
  }
  AcceptStream AcceptOnce();
  void Ended(const ProcessEnded& end);
  void StartedThere(const proto::ProcessStarted&) {
    context().FinishStart();
    if (birth_.Started()) context().StopAs(birth_.reason());
  }
  void Gone(const StreamGone& gone) {
    if (birth_.StreamOver()) {
      context().StopAs(birth_.reason());
      return;
    }
    if (stopping_ || leaving_) return;  // the process is expected to end
    // When a process ends, the end of its stream is often seen before its wait status, so wait for that.
    why_gone_ = std::string(gone.why.message());
    if (!context().StartTimer("gone", limits::kProcessEndsWithin, &ProcessChildProxy::LivesWithoutStream).ok()) {
      process_->Kill();
    }
  }
  // If the child has a stream, the end of the stream is reported separately (Gone), after all messages on it.
  void Closed(const ConnectionClosed&) {
    if (address_->has_stream() || birth_.has_ended() || stopping_) return;
    why_gone_ = "it closed its end of the connection before its node dialled";
    const auto look = [this](const TimerEvent& event) {
      if (!address_->has_stream()) LivesWithoutStream(event);
    };
    if (!context().StartTimer("closed", limits::kProcessEndsWithin, look).ok()) process_->Kill();
  }
  void LivesWithoutStream(const TimerEvent&) {
    context().Log().Write(LogSeverity::kError,
                          absl::StrCat("the process of node '", child_.node_name,
                                       "' lives, but its stream is gone; it is killed: ", why_gone_));
    process_->Kill();
  }
  // Ends the proxy; the destructor of `process_` kills the process.
  void SessionFailed(const NoSession& failed) {
    context().Stop(ExitReason::Failed(absl::ResourceExhaustedError(failed.why)));
  }
  // The process ends without having been asked to. It has stop_within for this, then it gets SIGTERM.
  void Leaving(const proto::ProcessLeaving&) {
    leaving_ = true;
    if (!stopping_) StartTerminateTimer();
  }

  void Crashed(const proto::ProcessCrash& message);

  // The exit of a linked actor stops the process unless its reason is Normal, as for every actor.
  void LinkedExit(const ExitEvent& exit) {
    if (!exit.reason.is_normal()) BeginStop();
  }
  void ParentExit(const ExitEvent&) { BeginStop(); }
  void StopRequested(const StopRequest&) { BeginStop(); }
  // Asks the process to stop over the session, then by SIGTERM, then kills it.
  void BeginStop();
  void StartTerminateTimer();
  void Terminate(const TimerEvent&);
  void KillProcess(const TimerEvent&) { process_->Kill(); }

  const ProcessHost host_;
  const ProcessChild child_;
  const std::shared_ptr<ProcessDirectory> directory_;
  const std::shared_ptr<SocketFolder> sockets_;
  bool is_expected_ = false;
  std::shared_ptr<ProxyAddress> address_;

  CrashedMailbox crashed{this};
  Mailbox<"Ended", ProcessEnded> ended_{this};
  Mailbox<"Gone", StreamGone> gone_{this};
  Mailbox<"NoSession", NoSession> no_session_{this};
  Mailbox<"Closed", ConnectionClosed> closed_{this};
  Mailbox<"PeerChanged", proto::PeerAddress> peer_changed_{this};

  std::unique_ptr<ConnectionEnd> connection_end_;
  std::unique_ptr<GrpcListener> listener_;  // accepts only the child's stream
  std::unique_ptr<OsProcess> process_;
  absl::optional<proto::ProcessChildRef> process_child_;  // set when the child has attached
  ProcessBirth birth_;
  bool stopping_ = false;
  bool leaving_ = false;
  std::string why_gone_;

  Behavior running_{"running",
                    On(attached, &ProcessChildProxy::Attached),
                    On(started, &ProcessChildProxy::StartedThere),
                    On(leaving, &ProcessChildProxy::Leaving),
                    On(crashed, &ProcessChildProxy::Crashed),
                    On(ended_, &ProcessChildProxy::Ended),
                    On(gone_, &ProcessChildProxy::Gone),
                    On(no_session_, &ProcessChildProxy::SessionFailed),
                    On(closed_, &ProcessChildProxy::Closed),
                    On(peer_changed_, &ProcessChildProxy::PeerChanged)};
};

absl::Status ProcessChildProxy::Expect() {
  // Before `expect`, because a session of that node asks the directory whether it is a child (IsChild, SilenceOf).
  absl::Status added = directory_->Add(child_.node_name, context().Self(), child_.silent_within);
  if (!added.ok()) return added;
  is_expected_ = true;
  return host_.expect(child_.node_name);
}

absl::Status ProcessChildProxy::StartProcess() {
  const absl::StatusOr<std::string> listen =
      host_.children_listen.empty() ? sockets_->AddressFor(child_.node_name) : host_.children_listen;
  if (!listen.ok()) return listen.status();
  absl::StatusOr<std::pair<int, int>> ends = SocketPair();
  if (!ends.ok()) return ends.status();
  const auto [ours, theirs] = *ends;
  absl::StatusOr<std::unique_ptr<GrpcListener>> listener =
      GrpcListener::WithoutAddress(StreamIdentity::ProcessChild(child_.node_name), AcceptOnce());
  absl::Status status = listener.status();
  if (status.ok()) {
    auto watching = ConnectionEnd::Watch(
        ours, [address = address_] { address->Send(&ProcessChildProxy::closed_, ConnectionClosed()); });
    status = watching.status();
    if (watching.ok()) connection_end_ = *std::move(watching);
  }
  if (status.ok()) {
    listener_ = *std::move(listener);
    status = listener_->AcceptOver(ours);
  } else {
    close(ours);
  }
  if (status.ok()) {
    const ParentInvitation invitation = {.descriptor = 3,
                                         .proxy = ToProto(context().Self()),
                                         .node = child_.node_name,
                                         .silence = child_.silent_within,
                                         .listen = *listen};
    OsProcessSpec spec = {.binary = child_.binary,
                          .arguments = child_.arguments,
                          .environment = child_.environment,
                          .descriptors = {theirs},
                          .limits = child_.limits};
    spec.environment.emplace_back(ParentInvitation::kVariable, invitation.ToString());
    absl::StatusOr<std::unique_ptr<OsProcess>> process =
        OsProcess::Start(spec, [address = address_, hold = context().HoldLife()](const ExitReason& reason) mutable {
          hold = nullptr;
          address->Send(&ProcessChildProxy::ended_, ProcessEnded{reason});
        });
    status = process.status();
    if (process.ok()) process_ = *std::move(process);
  }
  // Only the child has this end now, so the parent's end reads end of file when the child ends.
  close(theirs);
  return status;
}

AcceptStream ProcessChildProxy::AcceptOnce() {
  return [accept = host_.accept, address = address_](std::unique_ptr<FrameStream> stream,
                                                     const StreamIdentity& identity) -> FrameStream::Events* {
    if (!address->TakeStream()) return nullptr;
    FrameStream::Events* const events = accept(std::move(stream), identity, [address](const absl::Status& why) {
      address->Send(&ProcessChildProxy::gone_, StreamGone{why});
    });
    if (events == nullptr) address->LoseStream();
    return events;
  };
}

// The last messages of the process may not have been seen yet, so its end waits for the end of the stream. The timer is
// for a stream that another process keeps open.
void ProcessChildProxy::Ended(const ProcessEnded& end) {
  const bool is_told = birth_.Ended(end.reason, address_->has_stream()) ||
                       !context()
                            .StartTimer("end", limits::kProcessEndsWithin,
                                        [this](const TimerEvent&) { context().StopAs(birth_.reason()); })
                            .ok();
  if (is_told) context().StopAs(birth_.reason());
}

void ProcessChildProxy::Attached(const proto::ProcessAttached& message) {
  const absl::StatusOr<Pid> pid = PidFromProto(message.child(), context().Self());
  if (!pid.ok() || pid->is_null()) {
    context().Log().Write(LogSeverity::kError,
                          absl::StrCat("the process of node '", child_.node_name, "' is killed: ",
                                       pid.ok() ? "it attached without the pid of an actor" : pid.status().message()));
    process_->Kill();
    return;
  }
  process_child_ = proto::ProcessChildRef(*pid);
  if (stopping_) process_child_->stop().Tell(proto::ProcessStop());
  if (message.address().empty()) return;
  for (const proto::PeerAddress& other : directory_->Enter(child_.node_name, message.address())) {
    process_child_->meet_peer().Tell(other);
  }
}

void ProcessChildProxy::Crashed(const proto::ProcessCrash& message) {
  const auto log = [this](LogSeverity severity, absl::string_view what) {
    context().Log().Write(severity, absl::StrCat("the process of node '", child_.node_name, "' ", what));
  };
  if (message.left_out() > 0) {
    log(LogSeverity::kWarning, absl::StrCat("leaves out ", message.left_out(), " crashes, which its log has"));
  }
  const absl::StatusOr<std::shared_ptr<CrashReport>> crash = CrashFromProto(message.crash(), context().Self());
  const absl::StatusOr<ExitReason> reason = FromProto(message.reason());
  if (!crash.ok() || !reason.ok()) {
    const absl::Status why = crash.ok() ? reason.status() : crash.status();
    log(LogSeverity::kError, absl::StrCat("tells of a crash that is malformed: ", why.message()));
    return;
  }
  MoveTimes(**crash, context().Now());
  host_.crashed(**crash, *reason);
}

void ProcessChildProxy::BeginStop() {
  if (std::exchange(stopping_, true)) return;
  if (process_child_.has_value()) process_child_->stop().Tell(proto::ProcessStop());
  // A process whose node has not attached yet cannot be asked over the session.
  if (!process_child_.has_value()) process_->Terminate();
  StartTerminateTimer();
}

void ProcessChildProxy::StartTerminateTimer() {
  if (child_.stop_within == absl::InfiniteDuration()) return;
  if (!context().StartTimer("terminate", child_.stop_within, &ProcessChildProxy::Terminate).ok()) process_->Kill();
}

void ProcessChildProxy::Terminate(const TimerEvent&) {
  process_->Terminate();
  if (!context().StartTimer("kill", child_.stop_within, &ProcessChildProxy::KillProcess).ok()) process_->Kill();
}

}  // namespace

absl::Status ProcessDirectory::Add(const std::string& node, Pid proxy, absl::Duration silence) {
  absl::MutexLock lock(&mu_);
  if (entries_.try_emplace(node, Entry{.silence = silence, .address = "", .proxy = proxy}).second)
    return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("this node has a process child '", node, "' already, and two nodes cannot have one name"));
}

std::vector<proto::PeerAddress> ProcessDirectory::Enter(const std::string& node, const std::string& address) {
  absl::MutexLock lock(&mu_);
  entries_[node].address = address;
  TellOthers(node, address);
  std::vector<proto::PeerAddress> others;
  others.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) {
    if (name == node || entry.address.empty()) continue;
    proto::PeerAddress& other = others.emplace_back();
    other.set_node(name);
    other.set_address(entry.address);
  }
  return others;
}

void ProcessDirectory::Remove(const std::string& node) {
  absl::MutexLock lock(&mu_);
  const auto gone = entries_.extract(node);
  if (!gone.empty() && !gone.mapped().address.empty()) TellOthers(node, "");
}

Pid ProcessDirectory::ProxyOf(absl::string_view node) {
  absl::MutexLock lock(&mu_);
  const auto found = entries_.find(node);
  return found == entries_.end() ? Pid() : found->second.proxy;
}

absl::optional<absl::Duration> ProcessDirectory::SilenceOf(absl::string_view node) {
  absl::MutexLock lock(&mu_);
  const auto found = entries_.find(node);
  if (found == entries_.end()) return absl::nullopt;
  return found->second.silence;
}

void ProcessDirectory::TellOthers(const std::string& node, const std::string& address) {
  proto::PeerAddress peer;
  peer.set_node(node);
  peer.set_address(address);
  for (const auto& [name, entry] : entries_) {
    if (name != node) tell_(entry.proxy, peer);
  }
}

ProcessSpawner::ProcessSpawner(ProcessHost host)
    : host_(std::move(host)),
      directory_(std::make_shared<ProcessDirectory>(&ProcessChildProxy::TellPeerChanged)),
      sockets_(std::make_shared<SocketFolder>()) {}

absl::StatusOr<std::function<std::unique_ptr<Actor>()>> ProcessSpawner::ForProcess(const ProcessChild& child) {
  if (absl::Status valid = ValidateNodeName(child.node_name); !valid.ok()) return valid;
  if (child.node_name == host_.node) {
    return absl::InvalidArgumentError(
        absl::StrCat("the process child '", child.node_name, "' has the name of its parent's node; give it another"));
  }
  const absl::Status silence = ProcessSessionTimes(SessionTimes(), child.silent_within).Validate();
  if (!silence.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("silent_within of the process child '", child.node_name,
                                                   "' is out of its range: ", silence.message()));
  }
  if (child.stop_within < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat("stop_within of the process child '", child.node_name, "' is ",
                                                   absl::FormatDuration(child.stop_within), ": expected 0 or more"));
  }
  const absl::StatusOr<std::string> binary = FindBinary(child.binary);
  if (!binary.ok()) return binary.status();
  if (access(binary->c_str(), X_OK) != 0) {
    const int error = errno;
    return absl::Status(absl::ErrnoToStatusCode(error),
                        absl::StrCat("cannot start '", *binary, "' for node '", child.node_name,
                                     "': it is not an executable file: ", strerror(error)));
  }
  return [host = host_, child, directory = directory_, sockets = sockets_]() -> std::unique_ptr<Actor> {
    return std::make_unique<ProcessChildProxy>(host, child, directory, sockets);
  };
}

void ProcessSpawner::SessionFailed(absl::string_view node, absl::string_view why) {
  const Pid proxy = directory_->ProxyOf(node);
  if (!proxy.is_null()) ProcessChildProxy::TellSessionFailed(proxy, why);
}

}  // namespace understudy::internal

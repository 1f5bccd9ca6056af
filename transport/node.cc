#include "understudy/transport/node.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/check.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/dead_letter.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/spawner.h"
#include "understudy/transport/children/child_host_name.h"
#include "understudy/transport/children/node_spawner.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/core/ticker.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/end_report.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/grpc/evidence_watch.h"
#include "understudy/transport/grpc/grpc_stream.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/node_drain.h"
#include "understudy/transport/node_grants.h"
#include "understudy/transport/node_run.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/option_rules.h"
#include "understudy/transport/process/parent_invitation.h"
#include "understudy/transport/process/process_child.h"
#include "understudy/transport/process/process_spawner.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/handshake_log.h"
#include "understudy/transport/session/logging_dialer.h"
#include "understudy/transport/session/session_proof.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/session_times.h"
#include "understudy/transport/sockets/listen_rules.h"
#include "understudy/transport/sockets/machine.h"
#include "understudy/transport/sockets/unix_socket.h"
#include "understudy/transport/sockets/user_thread.h"
#include "understudy/transport/tree/tree_watch.h"

namespace understudy {

class Node::Parts {
 public:
  Parts(ActorSystem& system, NodeOptions options, const internal::ParentInvitation* invitation)
      : system_(system),
        options_(std::move(options)),
        users_(system.log()),
        handshakes_(std::make_shared<internal::HandshakeLog>(system.name(), Clock::Real(), users_.log())),
        drain_(system) {
    if (invitation != nullptr) invitation_ = *invitation;
    if (options_.on_peer != nullptr) peer_listener_.emplace(users_.log());
  }
  ~Parts();

  absl::Status Start();
  const std::string& name() const { return system_.name(); }
  const std::string& address() const { return address_; }
  absl::Status AddPeer(absl::string_view node, absl::string_view address);
  absl::Status SetGrants(std::vector<GrantEntry> entries) {
    return grants_.SetEntries(std::move(entries), [this](Grants grants) { core_->SetGrants(std::move(grants)); });
  }
  const internal::NodeGrants& grants() const { return grants_; }
  std::vector<PeerStatus> Peers() const { return core_->Peers(); }
  NodeCounters counters() {
    NodeCounters counters = core_->counters();
    counters.user_calls_dropped = users_.refused();
    if (peer_listener_.has_value()) counters.peer_events_dropped = peer_listener_->refused();
    return counters;
  }
  void Ready() {
    drain_.MarkReady();
    if (link_.ready != nullptr) link_.ready();
  }
  void RequestStop() { run_.RequestEnd(); }
  absl::Duration heartbeats_overdue() { return heart_.Overdue(); }
  internal::NodeDrain& drain() { return drain_; }
  int Drain(absl::Duration allowed);
  int RunUntilSignal(Pid tree);
  int RunMade(SpawnOptions options, std::function<std::unique_ptr<Actor>()> make);

 private:
  static constexpr int kFailedExitStatus = 1;

  // Calls `begin`, waits for the end of the run, then drains. Returns the exit status.
  int Run(const std::function<void()>& begin);
  void TreeEnded(const ExitReason& reason);
  void ReportEnd(const ExitReason& tree, bool in_order);
  NodeCoreOptions CoreOptions(Grants grants);
  bool is_tls() const { return options_.credentials.tls.has_value(); }
  SessionTimes TimesFor(absl::string_view peer);
  bool MayClaim(const StreamIdentity& identity, absl::string_view node);
  const std::string& listens_at() const { return invitation_.has_value() ? invitation_->listen : options_.listen; }
  const std::string& advertised() const { return options_.advertise.empty() ? address_ : options_.advertise; }
  absl::Status Listen();
  absl::Status WatchParent();
  void JoinParent();
  void OnPeer(const PeerEvent& event);
  void OnParentGone();
  FrameStream::Events* Accept(std::unique_ptr<FrameStream> stream, const StreamIdentity& identity,
                              NodeCore::OnStreamOver on_over = nullptr);
  void Leave();

  // Constant after Start.
  ActorSystem& system_;
  const NodeOptions options_;
  absl::optional<internal::ParentInvitation> invitation_;
  std::string address_;
  bool has_started_ = false;         // Start cannot fail any more
  internal::ProcessLinkCalls link_;  // its calls are null in a process without a parent

  internal::NodeRun run_;
  // False until Start has installed everything that an accepted stream uses, and after the drain.
  std::atomic<bool> accepting_{false};
  std::atomic<bool> parent_gone_{false};
  std::atomic<bool> leaving_{false};

  // Runs the log sink and dead-letter listeners for events of streams.
  internal::UserThread users_;
  // Shared, because streams and connections use it and may outlive the node.
  const std::shared_ptr<internal::HandshakeLog> handshakes_;
  internal::Ticker ticker_;
  internal::Ticker heart_;
  absl::optional<internal::UserThread> peer_listener_;  // for on_peer
  std::unique_ptr<Dialer> dialer_;
  internal::EvidenceWatch evidence_{
      [this](const std::string& node, NodeIncarnation incarnation) { core_->PeerProvedDead(node, incarnation); }};
  std::unique_ptr<NodeCore> core_;
  std::unique_ptr<internal::ProcessSpawner> processes_;
  std::unique_ptr<internal::NodeSpawner> spawner_;
  std::unique_ptr<GrpcListener> listener_;
  std::unique_ptr<internal::ParentWatch> parent_watch_;

  internal::NodeDrain drain_;
  internal::NodeGrants grants_{options_.insecure_loopback_grants, options_.insecure_loopback_ops};
  absl::Mutex peers_mu_;
  uint64_t peer_events_ ABSL_GUARDED_BY(peers_mu_) = 0;
};

absl::Status Node::Parts::Start() {
  if (absl::Status named = ValidateNodeName(name()); !named.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(named.message(), "; it comes from ActorSystemOptions::name, and the node takes it"));
  }
  if (system_.has_router()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the system ", name(), " has a node already: expected one node for each system"));
  }
  if (absl::Status valid = internal::CheckOptions(options_); !valid.ok()) return valid;
  absl::Status peers = internal::CheckPeers(options_.credentials, name(), options_.peers);
  if (!peers.ok()) return peers;
  const internal::ListeningOptions where = {listens_at(), options_.advertise, options_.children_listen,
                                            invitation_.has_value()};
  if (absl::Status sockets = internal::CheckSockets(options_.credentials, name(), where); !sockets.ok()) return sockets;
  std::unique_ptr<Dialer> dialer = std::make_unique<internal::LoggingDialer>(
      NewGrpcDialer(options_.credentials), handshakes_, options_.times.handshake_timeout, is_tls());
  if (options_.wrap_dialer != nullptr) dialer = options_.wrap_dialer(std::move(dialer));
  if (invitation_.has_value()) {
    if (absl::Status adopted = internal::Adopt(invitation_->descriptor); !adopted.ok()) return adopted;
    dialer = std::make_unique<internal::ParentDialer>(invitation_->descriptor, std::move(dialer));
  }
  dialer_ = std::move(dialer);
  processes_ = std::make_unique<internal::ProcessSpawner>(internal::ProcessHost{
      .node = name(),
      .children_listen = options_.children_listen,
      .accept = [this](
                    std::unique_ptr<FrameStream> stream, const StreamIdentity& identity,
                    NodeCore::OnStreamOver on_over) { return Accept(std::move(stream), identity, std::move(on_over)); },
      .expect = [this](absl::string_view node) { return core_->ExpectChild(node); },
      .forget = [this](absl::string_view node) { core_->ForgetPeer(node); },
      .crashed = [this](const CrashReport& crash, const ExitReason& reason) { system_.TellCrash(crash, reason); }});
  spawner_ = std::make_unique<internal::NodeSpawner>(
      [this](const ProcessChild& child) { return processes_->ForProcess(child); },
      [this](Pid asker) { return core_->Allows(internal::NodeNameOf(asker), Operation::kStart); });
  absl::Status granted = grants_.SetEntries(
      options_.grants, [this](Grants grants) { core_ = std::make_unique<NodeCore>(CoreOptions(std::move(grants))); });
  if (!granted.ok()) return granted;
  if (absl::Status listening = Listen(); !listening.ok()) return listening;
  core_->SetAdvertise(advertised());
  if (absl::Status watching = WatchParent(); !watching.ok()) return watching;
  // Nothing below fails. Up to here the core has neither actors nor peers, so a failed start has nothing to undo.
  has_started_ = true;
  if (options_.fatal_signal_reports == FatalSignalReports::kYes) system_.ReportFatalSignals();
  system_.InstallRouter(core_.get());
  system_.InstallPublisher(core_.get());
  system_.InstallSpawner(spawner_.get());
  accepting_.store(true, std::memory_order_release);  // pairs with Accept's load
  if (invitation_.has_value()) JoinParent();
  for (const auto& [node, address] : options_.peers) {
    const absl::Status added = AddPeer(node, address);
    UNDERSTUDY_CHECK(added.ok(), "CheckPeers passed node ", node, " at ", address, ": ", added.message());
  }
  return absl::OkStatus();
}

NodeCoreOptions Node::Parts::CoreOptions(Grants grants) {
  NodeCoreOptions core{.node = name(), .incarnation = system_.incarnation(), .node_index = system_.node()};
  core.has_traces = system_.has_traces();
  core.intern_peer = [this](absl::string_view node, NodeIncarnation life) { return system_.InternPeer(node, life); };
  core.mark_peers_dead = [this](absl::string_view node, auto alive) { system_.MarkPeersDead(node, alive); };
  core.clock = &Clock::Real();
  core.inbound = &system_;
  core.registry = &system_.registry();
  core.dialer = dialer_.get();
  core.run_at = ticker_.ToFunction();
  core.beat_at = heart_.ToFunctionOnGrid(options_.times.heartbeat_interval / 10);
  core.machine = internal::ThisMachine();
  core.seed = system_.NewSeed();
  core.new_key = NewSessionKey;
  core.may_claim = [this](const StreamIdentity& identity, absl::string_view node) { return MayClaim(identity, node); };
  core.times = options_.times;
  core.times_for = [this](absl::string_view peer) { return TimesFor(peer); };
  core.grants = std::move(grants);
  core.watch = &evidence_;
  core.on_dead_letter = [this](const DeadLetter& letter) {
    (void)users_.Run([this, letter] { system_.OnRefusedTell(letter); });  // Run counts a call that it refuses
  };
  core.on_peer = [this](const PeerEvent& event) { OnPeer(event); };
  return core;
}

// The names of this process's parent and process children may be claimed only over the inherited connections.
bool Node::Parts::MayClaim(const StreamIdentity& identity, absl::string_view node) {
  if (invitation_.has_value() && invitation_->parent() == node) return identity.proof == StreamIdentity::Proof::kParent;
  return !processes_->IsChild(node) || identity.proof == StreamIdentity::Proof::kProcessChild;
}

SessionTimes Node::Parts::TimesFor(absl::string_view peer) {
  if (invitation_.has_value() && invitation_->parent() == peer) {
    return internal::ProcessSessionTimes(options_.times, invitation_->silence);
  }
  const absl::optional<absl::Duration> silence = processes_->SilenceOf(peer);
  return silence.has_value() ? internal::ProcessSessionTimes(options_.times, *silence) : options_.times;
}

absl::Status Node::Parts::Listen() {
  if (listens_at().empty()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<GrpcListener>> listener = GrpcListener::Listen(
      listens_at(), options_.credentials,
      [this](std::unique_ptr<FrameStream> stream, const StreamIdentity& identity) {
        return Accept(std::move(stream), identity);
      },
      /*bounds=*/{}, [log = handshakes_, tls = is_tls()](const auto& connection) { log->Add(connection, tls); });
  if (!listener.ok()) return listener.status();
  listener_ = *std::move(listener);
  address_ = listener_->address();
  return absl::OkStatus();
}

absl::Status Node::Parts::WatchParent() {
  if (!invitation_.has_value()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<internal::ParentWatch>> watch =
      internal::ParentWatch::Start(invitation_->descriptor, [this] { OnParentGone(); });
  if (!watch.ok()) return watch.status();
  parent_watch_ = *std::move(watch);
  return absl::OkStatus();
}

void Node::Parts::JoinParent() {
  internal::ProcessLinkOptions link;
  link.proxy = invitation_->proxy;
  link.address = advertised();
  link.on_stop = [this] { RequestStop(); };
  link.on_peer = [this](absl::string_view node, absl::string_view address) {
    const auto install = [this](Grants grants) { core_->SetGrants(std::move(grants)); };
    if (address.empty()) {
      core_->ForgetPeer(node);
      return grants_.RemoveSibling(node, install);
    }
    grants_.AddSibling(node, install);
    const absl::Status added = AddPeer(node, address);
    if (!added.ok()) system_.log().Write(LogSeverity::kError, added.message());
  };
  link_ = internal::StartProcessLink(system_, std::move(link));
  // Last, because the session may begin at once: OnPeer calls link_.connected.
  const absl::Status dialled = core_->SetPeer(invitation_->parent(), internal::ParentDialer::kAddress);
  UNDERSTUDY_CHECK(dialled.ok(), "the first peer of a node has a place: ", dialled.message());
}

absl::Status Node::Parts::AddPeer(absl::string_view node, absl::string_view address) {
  if (absl::Status allowed = internal::CheckDialling(options_.credentials, address); !allowed.ok()) return allowed;
  return core_->SetPeer(node, address);
}

FrameStream::Events* Node::Parts::Accept(std::unique_ptr<FrameStream> stream, const StreamIdentity& identity,
                                         NodeCore::OnStreamOver on_over) {
  if (!accepting_.load(std::memory_order_acquire)) return nullptr;
  return core_->Accept(std::move(stream), identity, std::move(on_over));
}

void Node::Parts::OnPeer(const PeerEvent& event) {
  internal::LogPeerEvent(event, name(), *handshakes_, users_.log());
  // Run counts an event that it refuses.
  if (peer_listener_.has_value()) (void)peer_listener_->Run([this, event] { options_.on_peer(event); });
  if (invitation_.has_value() && event.node == invitation_->parent()) {
    // There is one connection, so after a refusal there is no other.
    const bool is_over = event.kind == PeerEvent::Kind::kEnded || event.kind == PeerEvent::Kind::kRefused;
    if (event.kind == PeerEvent::Kind::kUp) link_.connected();
    if (is_over && !leaving_.load(std::memory_order_acquire)) parent_watch_->ParentIsGone();
  }
  if (event.kind == PeerEvent::Kind::kFailed) processes_->SessionFailed(event.node, event.detail);
  absl::MutexLock lock(&peers_mu_);
  ++peer_events_;  // wakes Leave
}

void Node::Parts::OnParentGone() {
  parent_gone_.store(true, std::memory_order_release);  // pairs with the loads in Drain and Run
  RequestStop();
}

void Node::Parts::Leave() {
  // Up to here the end of the connection to a parent was the parent's end; from here on this node ends it.
  leaving_.store(true, std::memory_order_release);  // pairs with OnPeer's load
  if (parent_watch_ != nullptr) parent_watch_->Leaving(options_.times.leave_timeout + options_.drain_within);
  core_->Leave("the node drained");
  const MonotonicTime deadline = Clock::Real().Now() + options_.times.leave_timeout + internal::NodeDrain::kStuckAfter;
  while (true) {
    absl::MutexLock lock(&peers_mu_);
    const uint64_t before = peer_events_;  // before has_left(), so that a later event ends the wait
    const absl::Duration left = deadline - Clock::Real().Now();
    if (core_->has_left() || left <= absl::ZeroDuration()) return;
    const auto more = [this, before]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(peers_mu_) { return peer_events_ != before; };
    peers_mu_.AwaitWithTimeout(absl::Condition(&more), left);
  }
}

int Node::Parts::Drain(absl::Duration allowed) {
  return drain_.Once(allowed, [this](absl::Duration within) {
    core_->BeginDrain();
    drain_.LogBegin(within, core_->open_work());
    // parent_gone_ is read before each step, because the parent may end meanwhile. acquire: pairs with OnParentGone.
    if (invitation_.has_value() && !parent_gone_.load(std::memory_order_acquire)) link_.leaving(within);
    const bool in_order = drain_.ShutDown(within);
    if (!parent_gone_.load(std::memory_order_acquire)) Leave();
    accepting_.store(false, std::memory_order_release);
    if (listener_ != nullptr) listener_->Stop();
    drain_.LogEnd();
    return in_order ? 0 : kFailedExitStatus;
  });
}

void Node::Parts::TreeEnded(const ExitReason& reason) {
  if (reason.is_abnormal()) {
    system_.log().Write(LogSeverity::kError,
                        absl::StrCat("node ", name(), " ends, because its tree did: ", reason.ToString()));
  }
  run_.OnTreeEnded(reason);
}

int Node::Parts::Run(const std::function<void()>& begin) {
  return run_.Run(begin, [this](const absl::optional<ExitReason>& tree_failed) {
    const bool parent_gone = parent_gone_.load(std::memory_order_acquire);
    const int status = Drain(parent_gone ? limits::kParentGoneDrain : options_.drain_within);
    if (tree_failed.has_value()) ReportEnd(*tree_failed, /*in_order=*/status == 0);
    if (drain_.is_stuck()) {
      fflush(nullptr);
      _exit(kFailedExitStatus);
    }
    return tree_failed.has_value() ? kFailedExitStatus : status;
  });
}

void Node::Parts::ReportEnd(const ExitReason& tree, bool in_order) {
  if (options_.end_report.empty()) return;
  const std::string text =
      internal::EndReportText({.node = name(), .exit_status = kFailedExitStatus, .tree = tree, .in_order = in_order});
  const absl::Status written = internal::WriteEndReport(options_.end_report, text);
  if (!written.ok()) system_.log().Write(LogSeverity::kError, written.message());
}

int Node::Parts::RunUntilSignal(Pid tree) {
  return Run([this, tree] {
    Ready();
    if (tree.is_null()) return;
    system_.Spawn<internal::TreeWatch>(tree, [this](const ExitReason& reason) { TreeEnded(reason); });
  });
}

int Node::Parts::RunMade(SpawnOptions options, std::function<std::unique_ptr<Actor>()> make) {
  return Run([&] {
    internal::TreeRoot::Calls calls;
    calls.on_started = [this] { Ready(); };
    calls.on_end = [this](const ExitReason& reason) { TreeEnded(reason); };
    system_.SpawnMade(SpawnOptions{.label = "tree"}, [options = std::move(options), make = std::move(make),
                                                      calls = std::move(calls)]() mutable {
      return std::make_unique<internal::TreeRoot>(std::move(options), std::move(make), std::move(calls));
    });
  });
}

Node::Parts::~Parts() {
  // If the node did not start, its system is left running, because it may get another node.
  if (has_started_) {
    Drain(options_.drain_within);
    drain_.AwaitShutDown();
    system_.InstallRouter(nullptr);
    system_.InstallPublisher(nullptr);
    system_.InstallSpawner(nullptr);
  }
  listener_.reset();
  evidence_.Stop();  // before the core is destroyed, because it calls the core
  core_.reset();     // before parent_watch_, because the core calls OnPeer, which uses it
  parent_watch_.reset();
  handshakes_->Stop();
}

Node::Node(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Node::~Node() = default;

absl::StatusOr<std::unique_ptr<Node>> Node::Start(ActorSystem& system, NodeOptions options) {
  auto parts = std::make_unique<Parts>(system, std::move(options), nullptr);
  if (absl::Status started = parts->Start(); !started.ok()) return started;
  return std::unique_ptr<Node>(new Node(std::move(parts)));
}

absl::StatusOr<std::unique_ptr<Node>> Node::FromParent(ActorSystem& system, NodeOptions options) {
  const absl::StatusOr<internal::ParentInvitation>* const invitation = internal::ReceivedInvitation();
  if (invitation == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this process was not started by a node (", internal::ParentInvitation::kVariable, " is not set); use Start"));
  }
  if (!invitation->ok()) return invitation->status();
  if (system.name() != (*invitation)->node) {
    return absl::InvalidArgumentError(absl::StrCat("the parent calls this node '", (*invitation)->node,
                                                   "', and its system is named '", system.name(),
                                                   "'; give ActorSystemOptions::name Node::GivenName"));
  }
  auto parts = std::make_unique<Parts>(system, std::move(options), &**invitation);
  if (absl::Status started = parts->Start(); !started.ok()) return started;
  return std::unique_ptr<Node>(new Node(std::move(parts)));
}
bool Node::HasParent() { return internal::ReceivedInvitation() != nullptr; }
std::string Node::GivenName(absl::string_view otherwise) {
  const absl::StatusOr<internal::ParentInvitation>* const invitation = internal::ReceivedInvitation();
  return invitation != nullptr && invitation->ok() ? (*invitation)->node : std::string(otherwise);
}
const std::string& Node::name() const { return parts_->name(); }
const std::string& Node::address() const { return parts_->address(); }
absl::Status Node::AddPeer(absl::string_view node, absl::string_view address) { return parts_->AddPeer(node, address); }
absl::Status Node::SetGrants(std::vector<GrantEntry> grants) { return parts_->SetGrants(std::move(grants)); }
std::set<OpsAction> Node::OpsGrants(const StreamIdentity& who) const { return parts_->grants().OpsOf(who); }
std::vector<PeerStatus> Node::Peers() const { return parts_->Peers(); }
NodeCounters Node::counters() const { return parts_->counters(); }
absl::Duration Node::heartbeats_overdue() const { return parts_->heartbeats_overdue(); }
void Node::Ready() { parts_->Ready(); }
NodeState Node::state() const { return parts_->drain().state(); }
uint64_t Node::WatchState(std::function<void(NodeState)> watch) { return parts_->drain().AddWatch(std::move(watch)); }
void Node::UnwatchState(uint64_t id) { parts_->drain().RemoveWatch(id); }
void Node::RequestStop() { parts_->RequestStop(); }
uint64_t Node::DrainFirst(DrainStep step) { return parts_->drain().AddFirst(std::move(step)); }
void Node::ForgetDrainFirst(uint64_t id) { parts_->drain().RemoveFirst(id); }
int Node::Drain(absl::Duration within) { return parts_->Drain(within); }

int Node::RunMade(SpawnOptions options, std::function<std::unique_ptr<Actor>()> make) {
  return parts_->RunMade(std::move(options), std::move(make));
}
int Node::RunUntilSignal(Pid tree) { return parts_->RunUntilSignal(tree); }

}  // namespace understudy

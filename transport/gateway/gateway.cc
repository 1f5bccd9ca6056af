#include "understudy/transport/gateway/gateway.h"

#include <grpc/grpc.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/registry.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/gateway/actor_service.h"
#include "understudy/transport/gateway/call_budget.h"
#include "understudy/transport/gateway/call_server.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/gateway_limits.h"
#include "understudy/transport/gateway/health_service.h"
#include "understudy/transport/gateway/reflection_service.h"
#include "understudy/transport/gateway/service_host.h"
#include "understudy/transport/grpc/grpc_credentials.h"
#include "understudy/transport/node.h"
#include "understudy/transport/sockets/acceptor.h"
#include "understudy/transport/sockets/connection_gate.h"
#include "understudy/transport/sockets/peer_process.h"

namespace understudy {
namespace {

constexpr char kHealth[] = "grpc.health.v1.Health";
constexpr char kReflection[] = "grpc.reflection.";

absl::Status CheckBound(absl::string_view field, int64_t value, int64_t at_most) {
  if (value >= 1 && value <= at_most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("GatewayOptions::", field, " is ", value, ": expected 1 to ", at_most));
}

absl::Status CheckPositive(absl::string_view field, absl::Duration value) {
  if (value > absl::ZeroDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("GatewayOptions::", field, " is ", absl::FormatDuration(value), ": expected more than 0"));
}

absl::Status CheckMetadataKey(absl::string_view key) {
  const auto is_allowed = [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) || absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
           c == '-' || c == '_' || c == '.';
  };
  if (!key.empty() && key.size() <= limits::kCallerKeyBytesMax && std::all_of(key.begin(), key.end(), is_allowed) &&
      !absl::StartsWith(key, "grpc-")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", absl::CHexEscape(key), "' is not a metadata key: expected 1 to ", limits::kCallerKeyBytesMax,
                   " of the characters a-z, 0-9, '-', '_' and '.', not beginning with 'grpc-'"));
}

// The metadata of WithCaller.
absl::Status CheckMetadataKeys(const ExportedService& exported) {
  if (!exported.caller_metadata().has_value()) return absl::OkStatus();
  const std::vector<std::string>& keys = *exported.caller_metadata();
  if (keys.size() > limits::kCallerKeysMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(keys.size(), " metadata keys: expected at most ", limits::kCallerKeysMax));
  }
  std::set<std::string> once;
  for (const std::string& key : keys) {
    if (absl::Status valid = CheckMetadataKey(key); !valid.ok()) return valid;
    if (!once.insert(key).second) {
      return absl::InvalidArgumentError(absl::StrCat("the metadata key '", key, "' is there twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckExport(const ExportedService& exported, bool is_tls) {
  if (absl::Status named = ValidateName(exported.actor()); !named.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("the export of ", exported.service(), ": ", named.message()));
  }
  if (absl::Status valid = CheckMetadataKeys(exported); !valid.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("the export of ", exported.service(), ": ", valid.message()));
  }
  if (exported.service() == kHealth) {
    return absl::InvalidArgumentError(absl::StrCat("the gateway serves ", kHealth, " itself: it cannot be exported"));
  }
  if (absl::StartsWith(exported.service(), kReflection)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the gateway serves reflection itself (GatewayOptions::reflection): ", exported.service(),
                     " cannot be exported"));
  }
  if (exported.clients().has_value() && !is_tls) {
    return absl::FailedPreconditionError(
        absl::StrCat("the export of ", exported.service(),
                     " names the clients that may call it, but the gateway has no TLS credentials, without which it "
                     "knows no client: give it Credentials::Tls"));
  }
  return absl::OkStatus();
}

absl::Status CheckExports(const GatewayOptions& options) {
  if (options.exports.empty() && options.node == nullptr) {
    return absl::InvalidArgumentError(
        "GatewayOptions::exports is empty: expected at least one service, or a node whose health the gateway serves");
  }
  std::set<std::string> services;
  for (const ExportedService& exported : options.exports) {
    absl::Status valid = CheckExport(exported, options.credentials.tls.has_value());
    if (!valid.ok()) return valid;
    if (!services.insert(exported.service()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(exported.service(), " is exported twice: a client's call names a service, so it has one actor"));
    }
  }
  // Health knows a service by its own name and by its actor's.
  for (const ExportedService& exported : options.exports) {
    if (exported.actor() == exported.service() || services.count(exported.actor()) == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat("the export of ", exported.service(),
                                                   ": its actor has the name of another exported service, ",
                                                   exported.actor()));
  }
  return absl::OkStatus();
}

// Names tell the nodes of a cluster apart.
absl::Status CheckNode(const ActorSystem& system, const Node* node) {
  if (node == nullptr || node->name() == system.name()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("GatewayOptions::node is '", node->name(),
                                                 "', of another system than '", system.name(),
                                                 "', whose actors the gateway serves"));
}

absl::Status CheckOptions(const ActorSystem& system, const GatewayOptions& options) {
  absl::Status valid = options.credentials.Check();
  if (valid.ok()) valid = CheckExports(options);
  if (valid.ok()) valid = CheckNode(system, options.node);
  if (valid.ok() && options.listen.empty()) {
    valid = absl::InvalidArgumentError("GatewayOptions::listen is empty: expected at least one address");
  }
  if (valid.ok()) valid = CheckPositive("default_timeout", options.default_timeout);
  if (valid.ok()) valid = CheckPositive("transfer_timeout", options.transfer_timeout);
  if (valid.ok() && options.drain_within < absl::ZeroDuration()) {
    valid = absl::InvalidArgumentError(absl::StrCat(
        "GatewayOptions::drain_within is ", absl::FormatDuration(options.drain_within), ": expected at least 0"));
  }
  if (valid.ok() &&
      (options.connection_idle_max < absl::Milliseconds(1) || options.connection_idle_max > absl::Hours(24))) {
    valid = absl::InvalidArgumentError(absl::StrCat("GatewayOptions::connection_idle_max is ",
                                                    absl::FormatDuration(options.connection_idle_max),
                                                    ": expected 1ms to 24h"));
  }
  constexpr int kCountMax = 1 << 20;
  constexpr int64_t kBytesMax = int64_t{1} << 40;
  if (valid.ok()) valid = CheckBound("calls_max", options.calls_max, kCountMax);
  if (valid.ok()) valid = CheckBound("streams_max", options.streams_max, kCountMax);
  if (valid.ok()) valid = CheckBound("calls_per_connection_max", options.calls_per_connection_max, kCountMax);
  if (valid.ok()) valid = CheckBound("connections_max", options.connections_max, kCountMax);
  // gRPC counts the bytes of a message in an int.
  if (valid.ok()) valid = CheckBound("request_bytes_max", static_cast<int64_t>(options.request_bytes_max), INT_MAX);
  if (valid.ok()) valid = CheckBound("requests_bytes_max", static_cast<int64_t>(options.requests_bytes_max), kBytesMax);
  if (valid.ok()) valid = CheckBound("replies_bytes_max", static_cast<int64_t>(options.replies_bytes_max), kBytesMax);
  return valid;
}

absl::StatusOr<NodeAddress> ParseListen(const std::string& text, const Credentials& credentials) {
  absl::StatusOr<NodeAddress> address = NodeAddress::Parse(text);
  if (!address.ok()) return address;
  if (address->reach == NodeAddress::Reach::kUnixSocket) {
    return absl::InvalidArgumentError(absl::StrCat("a gateway does not listen on ", text, ": expected a TCP address"));
  }
  if (absl::Status allowed = CheckAllowed(credentials, *address, "listen on"); !allowed.ok()) return allowed;
  return address;
}

// The connections that acceptors pass to the server. Shared with the acceptors' callbacks, which may run after Stop.
class Connections {
 public:
  using Into = grpc::experimental::ExternalConnectionAcceptor;

  explicit Connections(std::unique_ptr<Into> into) : into_(std::move(into)) {}

  void Give(int descriptor) {
    absl::MutexLock lock(&mu_);
    if (!is_open_) {
      close(descriptor);
      return;
    }
    Into::NewConnectionParameters connection;
    connection.fd = descriptor;
    into_->HandleNewConnection(&connection);
  }
  // From the server's start to its shutdown.
  void Open() { SetOpen(true); }
  void Close() { SetOpen(false); }

 private:
  void SetOpen(bool is_open) {
    absl::MutexLock lock(&mu_);
    is_open_ = is_open;
  }

  absl::Mutex mu_;
  const std::unique_ptr<Into> into_;
  bool is_open_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace

class Gateway::Parts {
 public:
  Parts(ActorSystem& system, GatewayOptions options)
      : system_(system),
        options_(std::move(options)),
        budget_({.calls_max = options_.calls_max,
                 .streams_max = options_.streams_max,
                 .requests_bytes_max = options_.requests_bytes_max,
                 .replies_bytes_max = options_.replies_bytes_max}) {}
  ~Parts();

  absl::Status Start();
  bool Drain(absl::Duration within);
  const std::vector<std::string>& addresses() const { return addresses_; }
  GatewayCounters counters() const;

 private:
  absl::Status OpenSockets();
  absl::Status StartServer();
  void StartAcceptors();
  void Follow(NodeState state);
  bool DrainLocked(absl::Duration within) ABSL_EXCLUSIVE_LOCKS_REQUIRED(drain_mu_);

  // Constant after Start.
  ActorSystem& system_;
  const GatewayOptions options_;
  internal::CallBudget budget_;
  internal::ServiceHost host_;
  std::vector<internal::ListeningSocket> sockets_;  // until the acceptors have them
  std::vector<std::string> addresses_;
  bool is_on_loopback_ = true;
  std::vector<std::unique_ptr<internal::ActorService>> services_;
  std::unique_ptr<internal::HealthService> health_;
  std::unique_ptr<internal::ReflectionService> reflection_;  // null if it is not served
  std::shared_ptr<Connections> connections_;
  internal::CallServer server_;
  std::vector<std::unique_ptr<internal::Acceptor>> acceptors_;
  // The node's ids, if there is a node.
  uint64_t state_watch_ = 0;
  uint64_t drain_step_ = 0;

  absl::Mutex drain_mu_;  // held during the drain
  absl::optional<bool> drained_in_time_ ABSL_GUARDED_BY(drain_mu_);
};

absl::Status Gateway::Parts::Start() {
  if (absl::Status valid = CheckOptions(system_, options_); !valid.ok()) return valid;
  if (absl::Status opened = OpenSockets(); !opened.ok()) return opened;
  if (absl::Status started = StartServer(); !started.ok()) return started;
  if (options_.node == nullptr) Follow(NodeState::kReady);
  StartAcceptors();
  if (options_.node != nullptr) {
    state_watch_ = options_.node->WatchState([this](NodeState state) { Follow(state); });
    drain_step_ = options_.node->DrainFirst([this](absl::Duration within) { Drain(within); });
  }
  return absl::OkStatus();
}

// The state of the node, or what stands for it.
void Gateway::Parts::Follow(NodeState state) {
  if (state == NodeState::kReady) {
    host_.is_ready.store(true, std::memory_order_relaxed);
    health_->Ready();
  } else if (state == NodeState::kDraining) {
    health_->Drain();  // before this gateway drains: others, or steps of the node, may take their time first
  }
}

absl::Status Gateway::Parts::OpenSockets() {
  for (const std::string& text : options_.listen) {
    const absl::StatusOr<NodeAddress> address = ParseListen(text, options_.credentials);
    if (!address.ok()) return address.status();
    absl::StatusOr<internal::ListeningSocket> socket = internal::OpenListeningSocket(*address);
    if (!socket.ok()) return socket.status();
    addresses_.push_back(socket->address.ToString());
    if (address->reach != NodeAddress::Reach::kLoopback) is_on_loopback_ = false;
    sockets_.push_back(*std::move(socket));
  }
  return absl::OkStatus();
}

absl::Status Gateway::Parts::StartServer() {
  host_.system = &system_;
  host_.budget = &budget_;
  host_.default_timeout = options_.default_timeout;
  host_.on_call = [this](const std::string& peer) {
    std::shared_ptr<const internal::PeerProcess> process;
    // The first call of a connection is told to its acceptor; the answer to a later one is false, and means nothing.
    for (const auto& acceptor : acceptors_) (void)acceptor->OnBegun(peer, process);
  };
  grpc::ServerBuilder builder;
  std::map<std::string, std::string> actors;
  for (const ExportedService& exported : options_.exports) {
    services_.push_back(std::make_unique<internal::ActorService>(host_, exported));
    services_.back()->AddTo(server_);
    actors[exported.service()] = exported.actor();
    actors[exported.actor()] = exported.actor();
  }
  health_ = std::make_unique<internal::HealthService>(host_, std::move(actors));
  health_->AddTo(server_);
  if (options_.reflection == ServeReflection::kAlways ||
      (options_.reflection == ServeReflection::kOnLoopback && is_on_loopback_)) {
    std::vector<std::string> services;
    for (const ExportedService& exported : options_.exports) services.push_back(exported.service());
    reflection_ = std::make_unique<internal::ReflectionService>(host_, std::move(services));
    reflection_->AddTo(server_);
  }
  builder.SetMaxReceiveMessageSize(static_cast<int>(options_.request_bytes_max));
  // No compression, so that a client cannot send a small request that decompresses to a large one.
  builder.AddChannelArgument(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options_.calls_per_connection_max);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                             static_cast<int>(absl::ToInt64Milliseconds(limits::kKeepaliveAfter)));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                             static_cast<int>(absl::ToInt64Milliseconds(options_.connection_idle_max)));
  const size_t quota =
      options_.requests_bytes_max + static_cast<size_t>(options_.calls_max) * limits::kMemoryPerCallBytes +
      options_.listen.size() * static_cast<size_t>(options_.connections_max) * limits::kMemoryPerConnectionBytes;
  builder.SetResourceQuota(grpc::ResourceQuota("understudy gateway").Resize(quota));
  connections_ = std::make_shared<Connections>(builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      options_.credentials.tls.has_value() ? internal::TlsCertificates(*options_.credentials.tls).ForServer()
                                           : grpc::InsecureServerCredentials()));
  return server_.Start(builder, options_.transfer_timeout);
}

void Gateway::Parts::StartAcceptors() {
  internal::ConnectionBounds bounds;
  bounds.connections_max = options_.connections_max;
  bounds.begins_within = limits::kFirstCallWithin;
  for (const internal::ListeningSocket& socket : std::exchange(sockets_, {})) {
    acceptors_.push_back(std::make_unique<internal::Acceptor>(
        socket, bounds, [connections = connections_](int descriptor) { connections->Give(descriptor); }));
  }
  connections_->Open();
  for (const auto& acceptor : acceptors_) acceptor->Start();
}

GatewayCounters Gateway::Parts::counters() const {
  GatewayCounters counters;
  counters.calls = budget_.admitted();
  counters.refused = budget_.refused();
  counters.under_way = budget_.under_way();
  counters.streams = budget_.streams();
  for (const auto& acceptor : acceptors_) {
    const internal::ConnectionCounts counts = acceptor->counts();
    counters.connections += counts.connections;
    counters.connections_without_call += counts.half_open;
  }
  return counters;
}

bool Gateway::Parts::Drain(absl::Duration within) {
  ActorSystem::CheckOutsideOfActors("Gateway::Drain blocks its thread: not in an actor's turn");
  absl::MutexLock lock(&drain_mu_);
  if (!drained_in_time_.has_value()) drained_in_time_ = DrainLocked(within);
  return *drained_in_time_;
}

bool Gateway::Parts::DrainLocked(absl::Duration within) {
  const MonotonicTime began = Clock::Real().Now();
  health_->Drain();
  if (reflection_ != nullptr) reflection_->Drain();
  for (const auto& acceptor : acceptors_) acceptor->Stop();
  connections_->Close();
  // Streams must end before gRPC shuts down. During its shutdown gRPC closes a connection as soon as the last call
  // there has ended, without reading what the client has sent meanwhile, such as the window updates of a stream.
  // Because of these unread bytes the operating system resets the connection and drops the last answers, which it has
  // not sent yet. If a call ends before the shutdown, gRPC sends a ping after its answers, and closes the connection
  // only when the ping has come back.
  budget_.RefuseStreams(within / 2);
  const MonotonicTime watches_end = began + std::min(within / 2, limits::kWatchesEndWithin);
  health_->CancelCalls(watches_end - Clock::Real().Now());
  if (reflection_ != nullptr) reflection_->CancelCalls(watches_end - Clock::Real().Now());
  // What has ended for gRPC may be counted as under way for a moment longer.
  const bool have_ended = server_.AwaitCalls(began + within) || budget_.under_way() == 0;
  server_.Shutdown();
  return have_ended;
}

Gateway::Parts::~Parts() {
  for (const internal::ListeningSocket& socket : sockets_) close(socket.descriptor);
  if (!server_.has_started()) return;
  if (options_.node != nullptr) {
    options_.node->UnwatchState(state_watch_);
    options_.node->ForgetDrainFirst(drain_step_);
  }
  Drain(options_.drain_within);
}

Gateway::Gateway(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Gateway::~Gateway() = default;

absl::StatusOr<std::unique_ptr<Gateway>> Gateway::Start(ActorSystem& system, GatewayOptions options) {
  auto parts = std::make_unique<Parts>(system, std::move(options));
  if (absl::Status started = parts->Start(); !started.ok()) return started;
  return std::unique_ptr<Gateway>(new Gateway(std::move(parts)));
}

const std::vector<std::string>& Gateway::addresses() const { return parts_->addresses(); }
GatewayCounters Gateway::counters() const { return parts_->counters(); }
bool Gateway::Drain(absl::Duration within) { return parts_->Drain(within); }

}  // namespace understudy

#include "understudy/transport/ops/ops.h"

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/dead_letter.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervision_watch.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/ops/kept_entries.h"
#include "understudy/transport/ops/ops_actions.h"
#include "understudy/transport/ops/ops_limits.h"
#include "understudy/transport/ops/ops_reads.h"
#include "understudy/transport/ops/ops_server.h"

namespace understudy {
namespace {

using internal::KeptEntries;
using internal::OpsFeed;
using internal::OpsMethods;
using internal::ShownText;
using internal::TextOf;

proto::DeadLetterEntry ToEntry(const DeadLetter& letter) {
  proto::DeadLetterEntry entry;
  entry.set_time_unix_nanos(absl::GetCurrentTimeNanos());
  entry.set_why(ShownText(letter.why.ToString(absl::StatusToStringMode::kWithNoExtraData)));
  entry.set_from(TextOf(letter.from));
  entry.set_to(TextOf(letter.to));
  entry.set_mailbox(ShownText(letter.mailbox));
  entry.set_type(ShownText(letter.type));
  entry.set_bytes(letter.bytes);
  return entry;
}

proto::EventEntry ToEntry(const SupervisionEvent& event) {
  proto::EventEntry entry;
  entry.set_time_unix_nanos(absl::GetCurrentTimeNanos());
  entry.set_supervisor(TextOf(event.supervisor));
  entry.set_kind(std::string(SupervisionEventName(event.kind)));
  entry.set_child(ShownText(event.child));
  entry.set_pid(TextOf(event.pid));
  using Kind = SupervisionEvent::Kind;
  if (event.kind != Kind::kStarted && event.kind != Kind::kIgnored) {
    entry.set_reason(ShownText(event.reason.ToString()));
  }
  entry.set_restarts(event.restarts);
  return entry;
}

template <class M>
absl::StatusOr<std::string> Bytes(absl::StatusOr<M> answer) {
  if (!answer.ok()) return answer.status();
  return answer->SerializeAsString();
}

// A method that parses a Request, and serializes what `read` returns: a message or a StatusOr of one.
template <class Request, class F>
void AddUnary(OpsMethods& methods, const char* name, F read) {
  methods.unary[absl::StrCat("/understudy.proto.Ops/", name)] =
      [read](const std::string& bytes) -> absl::StatusOr<std::string> {
    Request request;
    if (!request.ParseFromString(bytes)) return absl::InvalidArgumentError("the request is not a message of ops.proto");
    using Answer = std::invoke_result_t<F, const Request&>;
    if constexpr (std::is_base_of_v<google::protobuf::MessageLite, Answer>) {
      return read(request).SerializeAsString();
    } else {
      return Bytes(read(request));
    }
  };
}

template <class Entry>
void AddStream(OpsMethods& methods, const char* name, const KeptEntries<Entry>& kept) {
  methods.streams[absl::StrCat("/understudy.proto.Ops/", name)] =
      [&kept](const std::string& bytes) -> absl::StatusOr<OpsFeed> {
    proto::FollowRequest request;
    if (!request.ParseFromString(bytes)) return absl::InvalidArgumentError("the request is not a FollowRequest");
    return OpsFeed{.next = [&kept, last = uint64_t{0}]() mutable -> absl::optional<std::string> {
                     const absl::optional<Entry> entry = kept.After(last);
                     if (!entry.has_value()) return absl::nullopt;
                     last = entry->number();
                     return entry->SerializeAsString();
                   },
                   .ends = request.kept_only()};
  };
}

}  // namespace

class Ops::Parts {
 public:
  Parts(ActorSystem& system, OpsOptions options)
      : system_(system),
        node_(options.node),
        actions_(system, options.node, std::move(options.actions)),
        events_watch_(system.node(), [this](const SupervisionEvent& event) { events_.Add(ToEntry(event)); }) {
    dead_letters_id_ =
        system_.SubscribeDeadLetters([this](const DeadLetter& letter) { dead_letters_.Add(ToEntry(letter)); });
  }
  ~Parts() {
    server_ = nullptr;
    system_.UnsubscribeDeadLetters(dead_letters_id_);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  absl::Status Serve(const std::string& path) {
    absl::StatusOr<std::unique_ptr<internal::OpsServer>> server = internal::OpsServer::Start(
        path, Methods(), [this](absl::string_view what) { system_.log().Write(LogSeverity::kWarning, what); });
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    return absl::OkStatus();
  }

 private:
  OpsMethods Methods() {
    OpsMethods methods;
    AddUnary<proto::GetNodeRequest>(methods, "GetNode", [this](const auto&) {
      proto::NodeDetails details = internal::ReadNode(system_, node_);
      actions_.Describe(details);
      return details;
    });
    AddUnary<proto::ListPeersRequest>(methods, "ListPeers", [this](const auto&) { return internal::ReadPeers(node_); });
    AddUnary<proto::ListActorsRequest>(methods, "ListActors",
                                       [this](const auto& request) { return internal::ReadActors(system_, request); });
    AddUnary<proto::TopActorsRequest>(
        methods, "TopActors", [this](const auto& request) { return internal::ReadTopActors(system_, request); });
    AddUnary<proto::GetActorRequest>(methods, "GetActor",
                                     [this](const auto& request) { return internal::ReadActor(system_, request); });
    AddUnary<proto::ListNamesRequest>(methods, "ListNames",
                                      [this](const auto& request) { return internal::ReadNames(system_, request); });
    AddUnary<proto::ListHandlerTimesRequest>(methods, "ListHandlerTimes", [this](const auto& request) {
      return internal::ReadHandlerTimes(system_, request);
    });
    AddUnary<proto::ListWorkersRequest>(methods, "ListWorkers",
                                        [this](const auto&) { return internal::ReadWorkers(system_); });
    AddUnary<proto::GetTreeRequest>(
        methods, "GetTree", [this](const auto&) { return internal::ReadTree(system_, limits::kTreeAnswersWithin); });
    AddUnary<proto::ActRequest>(methods, "Act", [this](const auto& request) { return actions_.Act(request); });
    AddStream(methods, "FollowDeadLetters", dead_letters_);
    AddStream(methods, "FollowEvents", events_);
    return methods;
  }

  ActorSystem& system_;
  Node* const node_;
  internal::OpsActions actions_;
  KeptEntries<proto::DeadLetterEntry> dead_letters_{limits::kKeptEntriesMax, limits::kKeptEntriesBytesMax};
  KeptEntries<proto::EventEntry> events_{limits::kKeptEntriesMax, limits::kKeptEntriesBytesMax};
  SupervisionWatch events_watch_;
  uint64_t dead_letters_id_ = 0;
  std::unique_ptr<internal::OpsServer> server_;
};

Ops::Ops(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Ops::~Ops() = default;

absl::StatusOr<std::unique_ptr<Ops>> Ops::Start(ActorSystem& system, OpsOptions options) {
  const absl::StatusOr<NodeAddress> address = NodeAddress::Parse(options.listen);
  if (!address.ok() || address->reach != NodeAddress::Reach::kUnixSocket) {
    return absl::InvalidArgumentError(absl::StrCat("OpsOptions::listen is '", options.listen,
                                                   "': expected the address of a Unix socket, unix:/path/to/socket"));
  }
  auto parts = std::make_unique<Parts>(system, std::move(options));
  if (absl::Status served = parts->Serve(address->path); !served.ok()) return served;
  return std::unique_ptr<Ops>(new Ops(std::move(parts)));
}

}  // namespace understudy

#include "understudy/transport/ops/ops.h"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
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
#include "understudy/actors/clock.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/dead_letter.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/message_trace.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervision_watch.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/node.h"
#include "understudy/transport/ops/kept_entries.h"
#include "understudy/transport/ops/ops_actions.h"
#include "understudy/transport/ops/ops_caller.h"
#include "understudy/transport/ops/ops_contents.h"
#include "understudy/transport/ops/ops_limits.h"
#include "understudy/transport/ops/ops_reads.h"
#include "understudy/transport/ops/ops_server.h"
#include "understudy/transport/ops/top_scans.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {
namespace {

using internal::KeptEntries;
using internal::OpsCaller;
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

proto::CrashEntry ToEntry(const CrashReport& crash, const ExitReason& reason) {
  proto::CrashEntry entry;
  const int64_t now = absl::GetCurrentTimeNanos();
  entry.set_time_unix_nanos(now);
  entry.set_pid(TextOf(crash.pid));
  entry.set_label(ShownText(crash.label));
  entry.set_doing(ShownText(crash.doing));
  entry.set_reason(ShownText(reason.ToString()));
  entry.set_parent(TextOf(crash.parent));
  entry.set_trace_id(ShownText(crash.trace_id));
  for (const MessageNote& note : crash.messages) {
    if (static_cast<size_t>(entry.messages_size()) == limits::kOpsCrashMessagesMax) break;
    proto::CrashMessage& message = *entry.add_messages();
    message.set_mailbox(ShownText(note.mailbox));
    message.set_type(ShownText(note.type));
    message.set_bytes(static_cast<int64_t>(note.bytes));
    message.set_from(TextOf(note.from));
    if (note.time == MonotonicTime()) continue;
    message.set_time_unix_nanos(now - absl::ToInt64Nanoseconds(crash.time - note.time));
  }
  return entry;
}

// The entry of a process child that ended without being stopped; nullopt for all other events.
absl::optional<proto::CrashEntry> ProcessCrashOf(const SupervisionEvent& event) {
  using Kind = SupervisionEvent::Kind;
  if (event.kind != Kind::kExited && event.kind != Kind::kStartFailed) return absl::nullopt;
  const ExitReason::Kind reason = event.reason.kind();
  if (reason != ExitReason::Kind::kOsExit && reason != ExitReason::Kind::kOsSignal) return absl::nullopt;
  proto::CrashEntry entry;
  entry.set_time_unix_nanos(absl::GetCurrentTimeNanos());
  entry.set_pid(TextOf(event.pid));
  entry.set_label(ShownText(event.child));
  entry.set_reason(ShownText(event.reason.ToString()));
  entry.set_parent(TextOf(event.supervisor));
  entry.set_is_process(true);
  return entry;
}

proto::TraceEntry ToEntry(const TracedMessage& message) {
  proto::TraceEntry entry;
  entry.set_number(message.number);
  entry.set_lost(message.lost);
  entry.set_time_unix_nanos(absl::ToUnixNanos(message.time));
  entry.set_mailbox(ShownText(message.mailbox));
  entry.set_type(ShownText(message.type));
  entry.set_bytes(static_cast<int64_t>(message.bytes));
  entry.set_from(TextOf(message.from));
  if (message.contents.has_value()) entry.set_contents(internal::ShownContents(message.type, *message.contents));
  return entry;
}

// The end of a feed: without an error, or not yet.
absl::optional<absl::Status> EndIf(bool is_over) {
  return is_over ? absl::make_optional(absl::OkStatus()) : absl::nullopt;
}

template <class M>
absl::StatusOr<std::string> Bytes(absl::StatusOr<M> answer) {
  if (!answer.ok()) return answer.status();
  return answer->SerializeAsString();
}

std::string PathOf(const char* method) { return absl::StrCat("/understudy.proto.Ops/", method); }

template <class Request>
absl::StatusOr<Request> Parse(const std::string& bytes) {
  Request request;
  if (!request.ParseFromString(bytes)) return absl::InvalidArgumentError("the request is not a message of ops.proto");
  return request;
}

// Returns the feed for one reader of `kept`: the entries that are kept, and then, unless `kept_only`, each new entry.
template <class Entry>
OpsFeed FeedOf(const KeptEntries<Entry>& kept, bool kept_only) {
  return {.next = [&kept, last = uint64_t{0}]() mutable -> absl::optional<std::string> {
            const absl::optional<Entry> entry = kept.After(last);
            if (!entry.has_value()) return absl::nullopt;
            last = entry->number();
            return entry->SerializeAsString();
          },
          .ends = [kept_only] { return EndIf(kept_only); }};
}

OpsFeed FeedOf(std::unique_ptr<MessageTrace> trace) {
  const std::shared_ptr<MessageTrace> shared = std::move(trace);
  return {.next = [shared]() -> absl::optional<std::string> {
            const absl::optional<TracedMessage> message = shared->Next();
            return message.has_value() ? absl::make_optional(ToEntry(*message).SerializeAsString()) : absl::nullopt;
          },
          // A message may be noted between a look for one and this one, and comes with the next.
          .ends = [shared, was_over = false]() mutable { return EndIf(std::exchange(was_over, shared->IsOver())); }};
}

// The outcome of an action, which may come later.
OpsFeed FeedOf(internal::OpsActions::Outcome outcome) {
  const auto known = std::make_shared<absl::optional<absl::StatusOr<proto::ActReply>>>();
  return {.next = [known, outcome = std::move(outcome)]() -> absl::optional<std::string> {
            if (known->has_value()) return absl::nullopt;
            *known = outcome();
            if (!known->has_value() || !(*known)->ok()) return absl::nullopt;
            return (**known)->SerializeAsString();
          },
          .ends = [known]() -> absl::optional<absl::Status> {
            return known->has_value() ? absl::make_optional((*known)->status()) : absl::nullopt;
          }};
}

// The one answer of a read in slices: `look` makes the next slice, and returns the answer when it is known.
OpsFeed FeedOf(std::function<absl::optional<proto::ListActorsReply>()> look) {
  const auto is_answered = std::make_shared<bool>(false);
  return {.next = [look = std::move(look), is_answered]() -> absl::optional<std::string> {
            if (*is_answered) return absl::nullopt;
            const absl::optional<proto::ListActorsReply> reply = look();
            if (!reply.has_value()) return absl::nullopt;
            *is_answered = true;
            return reply->SerializeAsString();
          },
          .ends = [is_answered] { return EndIf(*is_answered); },
          .is_busy = [is_answered] { return !*is_answered; }};
}

// `feed`, which ends with the error of `check` once its reader may not have it any more: grants change while it is
// read.
OpsFeed While(std::function<absl::Status()> check, OpsFeed feed) {
  return {.next = [check, next = std::move(feed.next)]() -> absl::optional<std::string> {
            return check().ok() ? next() : absl::nullopt;
          },
          .ends = [check, ends = std::move(feed.ends)]() -> absl::optional<absl::Status> {
            absl::Status may = check();
            return may.ok() ? ends() : may;
          }};
}

// Whether the service may listen there.
absl::StatusOr<NodeAddress> CheckedAddress(const ActorSystem& system, const OpsOptions& options) {
  absl::StatusOr<NodeAddress> address = NodeAddress::Parse(options.listen);
  if (!address.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("OpsOptions::listen is '", options.listen, "': expected unix:/path/to/socket, or host:port"));
  }
  if (address->reach == NodeAddress::Reach::kUnixSocket) return address;
  if (options.node == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("OpsOptions::listen is ", options.listen,
                                                   ": expected OpsOptions::node too, whose grants say who may do what "
                                                   "over TCP"));
  }
  if (absl::Status allowed = CheckAllowed(options.credentials, *address, "listen on"); !allowed.ok()) return allowed;
  if (absl::Status good = options.credentials.CheckForNode(system.name()); !good.ok()) return good;
  return address;
}

}  // namespace

class Ops::Parts {
 public:
  Parts(ActorSystem& system, OpsOptions options)
      : system_(system),
        node_(options.node),
        allowed_(std::move(options.actions)),
        actions_(system, options.node),
        events_watch_(system.node(), [this](const SupervisionEvent& event) { Keep(event); }) {
    dead_letters_id_ =
        system_.SubscribeDeadLetters([this](const DeadLetter& letter) { dead_letters_.Add(ToEntry(letter)); });
    crashes_id_ = system_.SubscribeCrashes(
        [this](const CrashReport& crash, const ExitReason& reason) { crashes_.Add(ToEntry(crash, reason)); });
  }
  ~Parts() {
    server_ = nullptr;
    system_.UnsubscribeDeadLetters(dead_letters_id_);
    system_.UnsubscribeCrashes(crashes_id_);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  absl::Status Serve(const NodeAddress& address, const Credentials& credentials) {
    absl::StatusOr<std::unique_ptr<internal::OpsServer>> server = internal::OpsServer::Start(
        {.address = address, .credentials = credentials, .uid = geteuid()}, Methods(),
        [this](absl::string_view what) { system_.log().Write(LogSeverity::kWarning, what); });
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    return absl::OkStatus();
  }
  const NodeAddress& address() const { return server_->address(); }

 private:
  void Keep(const SupervisionEvent& event) {
    events_.Add(ToEntry(event));
    if (absl::optional<proto::CrashEntry> crash = ProcessCrashOf(event)) crashes_.Add(*std::move(crash));
  }

  OpsCaller CallerOf(const StreamIdentity& identity) const { return internal::CallerOf(identity, node_, allowed_); }

  // PermissionDenied unless the caller may read. The log has a line for each refusal, within its limit by site: unlike
  // an action, a read that is asked for again and again has changed nothing.
  absl::Status CheckMayRead(const OpsCaller& caller, const char* method) {
    absl::Status may = caller.CheckMayRead();
    if (!may.ok()) {
      system_.log().Write(LogSeverity::kWarning, absl::StrCat("ops: ", caller.name, " asks to read (", method,
                                                              "): refused, ", caller.where, " does not allow it"));
    }
    return may;
  }

  // A method that parses a Request, and serializes what `read` returns: a message or a StatusOr of one.
  template <class Request, class F>
  void AddRead(OpsMethods& methods, const char* name, F read) {
    methods.unary[PathOf(name)] = [this, name, read](const StreamIdentity& identity,
                                                     const std::string& bytes) -> absl::StatusOr<std::string> {
      const OpsCaller caller = CallerOf(identity);
      if (absl::Status may = CheckMayRead(caller, name); !may.ok()) return may;
      const absl::StatusOr<Request> request = Parse<Request>(bytes);
      if (!request.ok()) return request.status();
      const auto answer = read(*request, caller);
      if constexpr (std::is_base_of_v<google::protobuf::MessageLite, std::decay_t<decltype(answer)>>) {
        return answer.SerializeAsString();
      } else {
        return Bytes(answer);
      }
    };
  }
  // A method that parses a Request, for which `begin` returns what makes the slices of its answer.
  template <class Request, class F>
  void AddReadInSlices(OpsMethods& methods, const char* name, F begin) {
    methods.feeds[PathOf(name)] = [this, name, begin](const StreamIdentity& identity,
                                                      const std::string& bytes) -> absl::StatusOr<OpsFeed> {
      if (absl::Status may = CheckMayRead(CallerOf(identity), name); !may.ok()) return may;
      const absl::StatusOr<Request> request = Parse<Request>(bytes);
      if (!request.ok()) return request.status();
      return FeedOf(begin(*request));
    };
  }
  template <class Entry>
  void AddStream(OpsMethods& methods, const char* name, const KeptEntries<Entry>& kept) {
    methods.feeds[PathOf(name)] = [this, name, &kept](const StreamIdentity& identity,
                                                      const std::string& bytes) -> absl::StatusOr<OpsFeed> {
      if (absl::Status may = CheckMayRead(CallerOf(identity), name); !may.ok()) return may;
      const absl::StatusOr<proto::FollowRequest> request = Parse<proto::FollowRequest>(bytes);
      if (!request.ok()) return request.status();
      return While([this, identity] { return CallerOf(identity).CheckMayRead(); }, FeedOf(kept, request->kept_only()));
    };
  }

  void AddReads(OpsMethods& methods) {
    AddRead<proto::GetNodeRequest>(methods, "GetNode", [this](const auto&, const OpsCaller& caller) {
      proto::NodeDetails details = internal::ReadNode(system_, node_);
      internal::OpsActions::Describe(caller, details);
      return details;
    });
    AddRead<proto::ListPeersRequest>(methods, "ListPeers",
                                     [this](const auto&, const auto&) { return internal::ReadPeers(node_); });
    AddReadInSlices<proto::ListActorsRequest>(methods, "ListActors", [this](const auto& request) {
      return [search = std::make_shared<internal::ActorSearch>(system_, request)] { return search->Look(); };
    });
    AddReadInSlices<proto::TopActorsRequest>(methods, "TopActors", [this](const auto& request) {
      return [this, request, share = internal::TopScans::Share()]() mutable { return top_scans_.Look(request, share); };
    });
    AddRead<proto::GetActorRequest>(methods, "GetActor", [this](const auto& request, const auto&) {
      return internal::ReadActor(system_, request);
    });
    AddRead<proto::ListNamesRequest>(methods, "ListNames", [this](const auto& request, const auto&) {
      return internal::ReadNames(system_, request);
    });
    AddRead<proto::ListHandlerTimesRequest>(methods, "ListHandlerTimes", [this](const auto& request, const auto&) {
      return internal::ReadHandlerTimes(system_, request);
    });
    AddRead<proto::ListWorkersRequest>(methods, "ListWorkers",
                                       [this](const auto&, const auto&) { return internal::ReadWorkers(system_); });
    AddRead<proto::GetTreeRequest>(
        methods, "GetTree", [this](const auto& request, const auto&) { return internal::ReadTree(system_, request); });
  }
  OpsMethods Methods() {
    OpsMethods methods;
    AddReads(methods);
    AddStream(methods, "FollowDeadLetters", dead_letters_);
    AddStream(methods, "FollowEvents", events_);
    AddStream(methods, "FollowCrashReports", crashes_);
    methods.feeds[PathOf("Act")] = [this](const StreamIdentity& identity,
                                          const std::string& bytes) -> absl::StatusOr<OpsFeed> {
      const absl::StatusOr<proto::ActRequest> request = Parse<proto::ActRequest>(bytes);
      if (!request.ok()) return request.status();
      absl::StatusOr<internal::OpsActions::Outcome> outcome = actions_.Act(CallerOf(identity), *request);
      if (!outcome.ok()) return outcome.status();
      return FeedOf(*std::move(outcome));
    };
    methods.feeds[PathOf("TraceMessages")] = [this](const StreamIdentity& identity,
                                                    const std::string& bytes) -> absl::StatusOr<OpsFeed> {
      const absl::StatusOr<proto::TraceRequest> request = Parse<proto::TraceRequest>(bytes);
      if (!request.ok()) return request.status();
      absl::StatusOr<std::unique_ptr<MessageTrace>> trace = actions_.Trace(CallerOf(identity), *request);
      if (!trace.ok()) return trace.status();
      const auto check = [this, identity, needed = internal::OpsActions::ActionsOf(*request)] {
        return CallerOf(identity).Check(needed, "go on with its trace");
      };
      return While(check, FeedOf(*std::move(trace)));
    };
    return methods;
  }

  ActorSystem& system_;
  Node* const node_;
  const std::set<OpsAction> allowed_;  // on a Unix socket
  internal::OpsActions actions_;
  internal::TopScans top_scans_{system_};
  KeptEntries<proto::DeadLetterEntry> dead_letters_{limits::kKeptEntriesMax, limits::kKeptEntriesBytesMax};
  KeptEntries<proto::EventEntry> events_{limits::kKeptEntriesMax, limits::kKeptEntriesBytesMax};
  KeptEntries<proto::CrashEntry> crashes_{limits::kKeptEntriesMax, limits::kKeptEntriesBytesMax};
  SupervisionWatch events_watch_;
  uint64_t dead_letters_id_ = 0;
  uint64_t crashes_id_ = 0;
  std::unique_ptr<internal::OpsServer> server_;
};

Ops::Ops(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Ops::~Ops() = default;

std::string Ops::address() const { return parts_->address().ToString(); }

absl::StatusOr<std::unique_ptr<Ops>> Ops::Start(ActorSystem& system, OpsOptions options) {
  const absl::StatusOr<NodeAddress> address = CheckedAddress(system, options);
  if (!address.ok()) return address.status();
  const Credentials credentials = options.credentials;
  auto parts = std::make_unique<Parts>(system, std::move(options));
  if (absl::Status served = parts->Serve(*address, credentials); !served.ok()) return served;
  return std::unique_ptr<Ops>(new Ops(std::move(parts)));
}

}  // namespace understudy

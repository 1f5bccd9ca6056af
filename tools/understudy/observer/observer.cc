#include "understudy/tools/understudy/observer/observer.h"

#include <google/protobuf/util/json_util.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/tools/understudy/observer/json.h"
#include "understudy/tools/understudy/observer/node_watch.h"
#include "understudy/tools/understudy/observer/observer_limits.h"
#include "understudy/tools/understudy/observer/page_files.h"
#include "understudy/tools/understudy/ops_channel.h"
#include "understudy/tools/understudy/page_guard.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/http/event_stream.h"
#include "understudy/transport/http/http_message.h"
#include "understudy/transport/http/http_server.h"

namespace understudy::tool {
namespace {

using internal::EventStream;
using internal::HttpAnswer;
using internal::HttpReplier;
using internal::HttpRequest;
using Stub = proto::Ops::Stub;

constexpr int kPortMax = 65535;

// On every answer: the page loads only its own files, talks only to this server, and is in no frame.
const std::vector<std::pair<std::string, std::string>>& SecurityHeaders() {
  static const auto* const headers = new std::vector<std::pair<std::string, std::string>>{
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
       "form-action 'none'; frame-ancestors 'none'"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Referrer-Policy", "no-referrer"},
      {"X-Frame-Options", "DENY"},
  };
  return *headers;
}

int HttpStatus(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kUnimplemented:
      return 405;
    case absl::StatusCode::kFailedPrecondition:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    default:
      return 502;  // the node
  }
}

HttpAnswer Json(int status, std::string body) {
  return {.status = status, .content_type = "application/json", .body = std::move(body), .headers = SecurityHeaders()};
}

HttpAnswer ToAnswer(const absl::StatusOr<std::string>& json) {
  if (json.ok()) return Json(200, *json);
  return Json(HttpStatus(json.status()), absl::StrCat("{\"error\":", ToJson(json.status().message()), "}"));
}

std::string Query(const HttpRequest& request, const std::string& name) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? "" : found->second;
}

template <class Request, class Reply>
NodeWatch::Question Call(OpsChannel::Method<Request, Reply> method, Request request) {
  return [method, request = std::move(request)](OpsChannel& channel) -> absl::StatusOr<std::string> {
    const absl::StatusOr<Reply> reply = channel.Ask(method, request, limits::kObserverAnswersWithin);
    if (!reply.ok()) return reply.status();
    return ToJson(*reply);
  };
}

// Returns the question that the HTTP request puts to a node, or an error if the request is not a valid question.
absl::StatusOr<NodeWatch::Question> ActorQuestion(const HttpRequest& request) {
  proto::GetActorRequest actor;
  actor.set_actor(Query(request, "actor"));
  return Call(&Stub::GetActor, std::move(actor));
}

absl::StatusOr<NodeWatch::Question> SearchQuestion(const HttpRequest& request) {
  proto::ListActorsRequest search;
  search.set_text(Query(request, "text"));
  search.set_at_most(limits::kObserverActorsMax);
  uint64_t after = 0;
  if (const std::string text = Query(request, "after"); !text.empty() && !absl::SimpleAtoi(text, &after)) {
    return absl::InvalidArgumentError("'after' is not a number: expected `next` of the answer before");
  }
  search.set_after(after);
  return Call(&Stub::ListActors, std::move(search));
}

absl::StatusOr<NodeWatch::Question> ActQuestion(const HttpRequest& request) {
  proto::ActRequest act;
  if (!google::protobuf::util::JsonStringToMessage(request.body, &act).ok()) {
    return absl::InvalidArgumentError("the body is not JSON of an ActRequest (proto/ops.proto)");
  }
  return Call(&Stub::Act, std::move(act));
}

struct Route {
  PageNeed need = PageNeed::kRead;
  absl::StatusOr<NodeWatch::Question> (*question)(const HttpRequest& request) = nullptr;  // null: the stream
};

const Route* FindRoute(absl::string_view path) {
  static const auto* const routes = new std::map<std::string, Route, std::less<>>{
      {"/api/stream", {.need = PageNeed::kRead}},
      {"/api/actor", {.need = PageNeed::kRead, .question = &ActorQuestion}},
      {"/api/search", {.need = PageNeed::kRead, .question = &SearchQuestion}},
      {"/api/act", {.need = PageNeed::kAction, .question = &ActQuestion}},
  };
  const auto found = routes->find(std::string(path));
  return found == routes->end() ? nullptr : &found->second;
}

HttpAnswer FileAnswer(absl::string_view path) {
  const PageFile* const file = FindPageFile(path == "/" ? "page.html" : path.substr(1));
  if (file == nullptr) return {.status = 404, .body = "not found\n", .headers = SecurityHeaders()};
  const char* type = "text/html; charset=utf-8";
  if (absl::EndsWith(file->name, ".js")) type = "text/javascript; charset=utf-8";
  if (absl::EndsWith(file->name, ".css")) type = "text/css; charset=utf-8";
  return {.content_type = type, .body = std::string(file->content), .headers = SecurityHeaders()};
}

}  // namespace

class Observer::Parts {
 public:
  explicit Parts(const ObserverOptions& options) {
    for (size_t i = 0; i < options.nodes.size(); ++i) {
      nodes_.push_back(std::make_unique<NodeWatch>(i, OpsTarget{.address = options.nodes[i], .tls = options.tls},
                                                   limits::kObserverTreesBytesMax / options.nodes.size()));
    }
  }

  absl::Status Serve(int port) {
    NodeAddress address;
    address.host = "127.0.0.1";
    address.port = port;
    absl::StatusOr<std::unique_ptr<internal::HttpServer>> server = internal::HttpServer::Start(
        address, Credentials::Insecure(),
        {.connections_max = limits::kObserverConnectionsMax,
         .connection_within = limits::kObserverConnectionWithin,
         .connection_bytes_max = limits::kObserverConnectionBytesMax,
         .body_bytes_max = limits::kObserverBodyBytesMax,
         .answer_within = limits::kObserverReplyWithin,
         .streams_max = limits::kObserverPagesMax},
        [this](HttpRequest request, const HttpReplier& replier) { Handle(request, replier); });
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    guard_.emplace(server_->address());
    has_guard_.Notify();
    return absl::OkStatus();
  }
  std::string PrintedAddress() const { return guard_->PrintedAddress(); }

 private:
  // The functions below run on the server's thread.
  void Handle(const HttpRequest& request, const HttpReplier& replier) {
    has_guard_.WaitForNotification();  // a request that came while the server started
    const Route* const route = FindRoute(request.path);
    const PageRequest asked = {.method = request.method,
                               .host = request.Header("host"),
                               .origin = request.Header("origin"),
                               .token = request.Header(absl::AsciiStrToLower(kPageTokenHeader))};
    if (absl::Status refused = guard_->Check(asked, route == nullptr ? PageNeed::kAsset : route->need); !refused.ok()) {
      return replier.Answer(ToAnswer(refused));
    }
    if (route == nullptr) return replier.Answer(FileAnswer(request.path));
    if (route->question == nullptr) return replier.Answer(NewPage());
    const absl::Status asking = AskNode(request, *route, replier);
    if (!asking.ok()) replier.Answer(ToAnswer(asking));
  }

  HttpAnswer NewPage() {
    auto page = std::make_shared<EventStream>(EventStream::Bounds{.events_max = limits::kObserverWaitingEventsMax,
                                                                  .bytes_max = limits::kObserverWaitingBytesMax});
    page->Send("nodes", absl::StrCat(nodes_.size()));
    for (const std::unique_ptr<NodeWatch>& node : nodes_) node->AddPage(page);
    return {.headers = SecurityHeaders(), .events = std::move(page)};
  }

  absl::Status AskNode(const HttpRequest& request, const Route& route, const HttpReplier& replier) {
    size_t number = 0;
    if (!absl::SimpleAtoi(Query(request, "node"), &number) || number >= nodes_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'node' is not a number of a node: expected 0 to ", nodes_.size() - 1));
    }
    absl::StatusOr<NodeWatch::Question> question = route.question(request);
    if (!question.ok()) return question.status();
    return nodes_[number]->Ask(*std::move(question), [replier](const absl::StatusOr<std::string>& answer) {
      replier.Answer(ToAnswer(answer));
    });
  }

  std::vector<std::unique_ptr<NodeWatch>> nodes_;
  std::optional<PageGuard> guard_;
  absl::Notification has_guard_;
  std::unique_ptr<internal::HttpServer> server_;  // the last member, so that its thread ends first
};

Observer::Observer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Observer::~Observer() = default;

std::string Observer::PrintedAddress() const { return parts_->PrintedAddress(); }

absl::StatusOr<std::unique_ptr<Observer>> Observer::Start(ObserverOptions options) {
  if (options.nodes.empty() || options.nodes.size() > limits::kObservedNodesMax) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", options.nodes.size(),
                                                   " nodes to observe: expected 1 to ", limits::kObservedNodesMax));
  }
  if (options.port < 0 || options.port > kPortMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("the port is ", options.port, ": expected 0, for a free one, to ", kPortMax));
  }
  auto parts = std::make_unique<Parts>(options);
  if (absl::Status served = parts->Serve(options.port); !served.ok()) return served;
  return std::unique_ptr<Observer>(new Observer(std::move(parts)));
}

}  // namespace understudy::tool

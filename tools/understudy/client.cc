#include "understudy/tools/understudy/client.h"

#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "understudy/proto/ops.grpc.pb.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/tools/understudy/tables.h"

namespace understudy::tool {
namespace {

constexpr std::chrono::seconds kAnswersWithin{10};
constexpr absl::Duration kWatchPeriod = absl::Seconds(1);
constexpr size_t kTopActors = 20;
constexpr uint32_t kActorsPerPage = 1000;
constexpr char kClearScreen[] = "\033[H\033[2J";

absl::Status ToAbsl(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

void WriteJson(const google::protobuf::Message& message, std::ostream& out) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string json;
  (void)google::protobuf::util::MessageToJsonString(message, &json, options);
  out << json << "\n";
}

class Client {
 public:
  Client(const Arguments& arguments, std::istream& in, std::ostream& out)
      : arguments_(arguments),
        in_(in),
        out_(out),
        stub_(proto::Ops::NewStub(
            grpc::CreateChannel(absl::StrCat("unix:", arguments.ops), grpc::InsecureChannelCredentials()))) {}

  absl::Status Run();

 private:
  template <class Request, class Reply>
  using Method = grpc::Status (proto::Ops::Stub::*)(grpc::ClientContext*, const Request&, Reply*);

  template <class Request, class Reply>
  absl::StatusOr<Reply> Ask(Method<Request, Reply> method, const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kAnswersWithin);
    Reply reply;
    const grpc::Status status = ((*stub_).*method)(&context, request, &reply);
    if (status.ok()) return reply;
    return ToAbsl(status);
  }
  // Asks, and writes the reply as JSON or as `format` makes it.
  template <class Request, class Reply>
  absl::Status Show(Method<Request, Reply> method, const Request& request, std::string (*format)(const Reply&)) {
    const absl::StatusOr<Reply> reply = Ask(method, request);
    if (!reply.ok()) return reply.status();
    if (arguments_.json) {
      WriteJson(*reply, out_);
    } else {
      out_ << format(*reply);
    }
    return absl::OkStatus();
  }
  // All pages of the actors that `request` asks for.
  absl::StatusOr<std::vector<proto::ActorDetails>> Actors(proto::ListActorsRequest request);
  void Write(const std::vector<proto::ActorDetails>& actors);
  absl::Status Ps();
  absl::Status Top();
  absl::Status TopForever();
  absl::Status Names();
  template <class Entry>
  absl::Status Follow(std::unique_ptr<grpc::ClientReader<Entry>> (proto::Ops::Stub::*method)(
      grpc::ClientContext*, const proto::FollowRequest&));
  absl::Status Act(proto::Action action);
  std::string Operand(size_t place) const {
    return place < arguments_.operands.size() ? arguments_.operands[place] : std::string();
  }

  const Arguments& arguments_;
  std::istream& in_;
  std::ostream& out_;
  const std::unique_ptr<proto::Ops::Stub> stub_;
};

absl::StatusOr<std::vector<proto::ActorDetails>> Client::Actors(proto::ListActorsRequest request) {
  request.set_at_most(kActorsPerPage);
  std::vector<proto::ActorDetails> actors;
  do {
    absl::StatusOr<proto::ListActorsReply> page = Ask(&proto::Ops::Stub::ListActors, request);
    if (!page.ok()) return page.status();
    for (proto::ActorDetails& actor : *page->mutable_actors()) actors.push_back(std::move(actor));
    request.set_after(page->next());
  } while (request.after() != 0);
  return actors;
}

void Client::Write(const std::vector<proto::ActorDetails>& actors) {
  if (!arguments_.json) {
    out_ << FormatActors(actors);
    return;
  }
  for (const proto::ActorDetails& actor : actors) WriteJson(actor, out_);
}

absl::Status Client::Ps() {
  proto::ListActorsRequest request;
  request.set_text(Operand(0));
  const absl::StatusOr<std::vector<proto::ActorDetails>> actors = Actors(std::move(request));
  if (actors.ok()) Write(*actors);
  return actors.status();
}

absl::Status Client::Top() {
  const absl::StatusOr<proto::NodeDetails> node = Ask(&proto::Ops::Stub::GetNode, proto::GetNodeRequest());
  if (!node.ok()) return node.status();
  proto::ListActorsRequest with_mail;
  with_mail.set_waiting_min(1);
  absl::StatusOr<std::vector<proto::ActorDetails>> actors = Actors(std::move(with_mail));
  if (!actors.ok()) return actors.status();
  proto::ListActorsRequest stuck;
  stuck.set_state(proto::STUCK);
  const absl::StatusOr<std::vector<proto::ActorDetails>> stuck_actors = Actors(std::move(stuck));
  if (!stuck_actors.ok()) return stuck_actors.status();
  for (const proto::ActorDetails& actor : *stuck_actors) {
    if (actor.waiting() == 0) actors->push_back(actor);  // the others are there already
  }
  if (arguments_.watch) out_ << kClearScreen;
  if (!arguments_.json) out_ << FormatNode(*node) << "\n";
  Write(TopActors(*std::move(actors), kTopActors));
  out_.flush();
  return absl::OkStatus();
}

absl::Status Client::TopForever() {
  const absl::Notification never;  // an interrupt ends the program
  absl::Status shown = Top();
  while (shown.ok() && arguments_.watch && out_.good()) {
    (void)never.WaitForNotificationWithTimeout(kWatchPeriod);
    shown = Top();
  }
  return shown;
}

absl::Status Client::Names() {
  proto::ListNamesRequest request;
  request.set_prefix(Operand(0));
  proto::ListNamesReply all;
  for (bool has_more = true; has_more;) {
    const absl::StatusOr<proto::ListNamesReply> page = Ask(&proto::Ops::Stub::ListNames, request);
    if (!page.ok()) return page.status();
    all.mutable_names()->MergeFrom(page->names());
    has_more = page->has_more() && page->names_size() > 0;
    if (has_more) request.set_after(page->names(page->names_size() - 1).name());
  }
  if (arguments_.json) {
    WriteJson(all, out_);
  } else {
    out_ << FormatNames(all);
  }
  return absl::OkStatus();
}

template <class Entry>
absl::Status Client::Follow(std::unique_ptr<grpc::ClientReader<Entry>> (proto::Ops::Stub::*method)(
    grpc::ClientContext*, const proto::FollowRequest&)) {
  grpc::ClientContext context;
  proto::FollowRequest request;
  request.set_kept_only(!arguments_.follow);
  const std::unique_ptr<grpc::ClientReader<Entry>> entries = ((*stub_).*method)(&context, request);
  Entry entry;
  while (entries->Read(&entry)) {
    if (arguments_.json) {
      WriteJson(entry, out_);
    } else {
      out_ << FormatEntry(entry, absl::LocalTimeZone());
    }
    out_.flush();
  }
  return ToAbsl(entries->Finish());
}

absl::Status Client::Act(proto::Action action) {
  proto::ActRequest request;
  request.set_action(action);
  request.set_actor(Operand(0));
  request.set_child(Operand(1));
  if (!arguments_.yes) {
    const absl::StatusOr<proto::NodeDetails> node = Ask(&proto::Ops::Stub::GetNode, proto::GetNodeRequest());
    if (!node.ok()) return node.status();
    std::string what = absl::StrCat(arguments_.command, action == proto::DRAIN ? "" : " ", Operand(0));
    if (action == proto::RESTART) absl::StrAppend(&what, " ", Operand(1));
    out_ << what << " on node " << node->name() << "? [y/N] " << std::flush;
    std::string answer;
    std::getline(in_, answer);
    if (answer != "y" && answer != "yes") return absl::CancelledError("nothing was done");
  }
  const absl::StatusOr<proto::ActReply> reply = Ask(&proto::Ops::Stub::Act, request);
  if (!reply.ok()) return reply.status();
  if (arguments_.json) {
    WriteJson(*reply, out_);
  } else {
    out_ << reply->done() << "\n";
  }
  return absl::OkStatus();
}

absl::Status Client::Run() {
  using Stub = proto::Ops::Stub;
  proto::GetActorRequest actor;
  actor.set_actor(Operand(0));
  const std::map<std::string, std::function<absl::Status()>> commands = {
      {"node", [&] { return Show(&Stub::GetNode, proto::GetNodeRequest(), &FormatNode); }},
      {"tree", [&] { return Show(&Stub::GetTree, proto::GetTreeRequest(), &FormatTree); }},
      {"ps", [&] { return Ps(); }},
      {"top", [&] { return TopForever(); }},
      {"actor", [&] { return Show(&Stub::GetActor, actor, &FormatActor); }},
      {"names", [&] { return Names(); }},
      {"peers", [&] { return Show(&Stub::ListPeers, proto::ListPeersRequest(), &FormatPeers); }},
      {"workers", [&] { return Show(&Stub::ListWorkers, proto::ListWorkersRequest(), &FormatWorkers); }},
      {"dead-letters", [&] { return Follow<proto::DeadLetterEntry>(&Stub::FollowDeadLetters); }},
      {"events", [&] { return Follow<proto::EventEntry>(&Stub::FollowEvents); }},
      {"stop", [&] { return Act(proto::STOP); }},
      {"kill", [&] { return Act(proto::KILL); }},
      {"restart", [&] { return Act(proto::RESTART); }},
      {"drain", [&] { return Act(proto::DRAIN); }},
  };
  return commands.at(arguments_.command)();
}

}  // namespace

absl::Status RunCommand(const Arguments& arguments, std::istream& in, std::ostream& out) {
  absl::Status status = Client(arguments, in, out).Run();
  if (!absl::IsUnavailable(status)) return status;
  return absl::UnavailableError(absl::StrCat("no node answers on ", arguments.ops, ": ", status.message()));
}

}  // namespace understudy::tool

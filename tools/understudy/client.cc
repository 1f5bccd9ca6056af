#include "understudy/tools/understudy/client.h"

#include <grpcpp/client_context.h>
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
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "understudy/actors/printable_text.h"
#include "understudy/proto/ops.grpc.pb.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/tools/understudy/arguments.h"
#include "understudy/tools/understudy/cluster.h"
#include "understudy/tools/understudy/dot.h"
#include "understudy/tools/understudy/ops_channel.h"
#include "understudy/tools/understudy/tables.h"
#include "understudy/tools/understudy/tree_pages.h"

namespace understudy::tool {
namespace {

// `status` with a printable text that says which node did not answer.
absl::Status Told(const absl::Status& status, const Arguments& arguments, const Terminal& terminal) {
  const std::string said = PrintableText(status.message(), Backslashes::kKeep);
  const std::string socket = PrintableText(arguments.ops, Backslashes::kKeep);
  if (absl::IsUnavailable(status)) {
    return absl::UnavailableError(absl::StrCat("no node answers on ", socket, ": ", said));
  }
  if (absl::IsDeadlineExceeded(status)) {
    return absl::DeadlineExceededError(absl::StrCat("the node of ", socket, " has not answered within ",
                                                    absl::FormatDuration(terminal.answers_within)));
  }
  return absl::Status(status.code(), said);
}

class Client {
 public:
  Client(const Arguments& arguments, const Terminal& terminal)
      : arguments_(arguments),
        terminal_(terminal),
        out_(terminal.out),
        channel_({.address = arguments.ops, .tls = arguments.tls}) {}

  absl::Status Run();

 private:
  template <class Request, class Reply>
  using Method = OpsChannel::Method<Request, Reply>;

  std::chrono::milliseconds AnswersWithin() const { return absl::ToChronoMilliseconds(terminal_.answers_within); }
  template <class Request, class Reply>
  absl::StatusOr<Reply> Ask(Method<Request, Reply> method, const Request& request) {
    return channel_.Ask(method, request, AnswersWithin());
  }
  // Asks, and writes the reply as JSON or as `format` makes it.
  template <class Request, class Reply>
  absl::Status Show(Method<Request, Reply> method, const Request& request, std::string (*format)(const Reply&)) {
    const absl::StatusOr<Reply> reply = Ask(method, request);
    if (!reply.ok()) return reply.status();
    out_ << (arguments_.json ? FormatJson(*reply) : format(*reply));
    return absl::OkStatus();
  }
  absl::Status Tree();
  // All pages of the actors that `request` asks for.
  absl::StatusOr<std::vector<proto::ActorDetails>> Actors(proto::ListActorsRequest request);
  std::string Text(const std::vector<proto::ActorDetails>& actors) const;
  absl::Status Ps();
  absl::Status Waits();
  absl::Status Peers();
  absl::StatusOr<std::string> TopText();
  absl::Status Top();
  // `top --watch`: writes `text` as the next picture.
  void Draw(const absl::StatusOr<std::string>& text);
  absl::Status Names();
  template <class Request, class Entry>
  using Stream = std::unique_ptr<grpc::ClientReader<Entry>> (proto::Ops::Stub::*)(grpc::ClientContext*, const Request&);
  template <class Entry>
  std::string Text(Entry& entry) const;
  // Writes each entry as it comes, until the stream ends.
  template <class Request, class Entry>
  absl::Status Follow(Stream<Request, Entry> method, const Request& request);
  // With --follow, writes entries as they come; else writes the entries that the node has kept, and returns.
  template <class Entry>
  absl::Status Entries(Stream<proto::FollowRequest, Entry> method);
  absl::Status Trace();
  absl::Status Act(proto::Action action);
  // Asks the user whether to do what `request` says, and puts the pid of its actor into it, so that the actor that the
  // question names is meant also if another one has the name by then.
  absl::Status Confirm(proto::ActRequest& request);
  // Cancelled unless the user's answer is yes.
  absl::Status AwaitYes();
  // Returns an operand for a request. A request must be UTF-8, so an operand that is not UTF-8 is written with escapes,
  // as replies of nodes write such a name.
  std::string Operand(size_t place) const {
    if (place >= arguments_.operands.size()) return "";
    const std::string& operand = arguments_.operands[place];
    return PrintableText(operand, Backslashes::kKeep) == operand ? operand : PrintableText(operand);
  }

  const Arguments& arguments_;
  const Terminal& terminal_;
  std::ostream& out_;
  OpsChannel channel_;
};

absl::Status Client::Tree() {
  const absl::StatusOr<proto::GetTreeReply> tree =
      AllTreePages({}, [this](const auto& request) { return Ask(&proto::Ops::Stub::GetTree, request); });
  if (!tree.ok()) return tree.status();
  out_ << (arguments_.json ? FormatJson(*tree) : arguments_.dot ? TreeDot(*tree) : FormatTree(*tree));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<proto::ActorDetails>> Client::Actors(proto::ListActorsRequest request) {
  return AllActorPages(std::move(request),
                       [this](const auto& page) { return Ask(&proto::Ops::Stub::ListActors, page); });
}

std::string Client::Text(const std::vector<proto::ActorDetails>& actors) const {
  if (!arguments_.json) return FormatActors(actors);
  std::string text;
  for (const proto::ActorDetails& actor : actors) absl::StrAppend(&text, FormatJson(actor));
  return text;
}

absl::Status Client::Ps() {
  proto::ListActorsRequest request;
  request.set_text(Operand(0));
  const absl::StatusOr<std::vector<proto::ActorDetails>> actors = Actors(std::move(request));
  if (actors.ok()) out_ << Text(*actors);
  return actors.status();
}

absl::Status Client::Waits() {
  proto::ListActorsRequest request;
  request.set_asking_only(true);
  const absl::StatusOr<std::vector<proto::ActorDetails>> actors = Actors(std::move(request));
  if (!actors.ok()) return actors.status();
  out_ << (arguments_.json ? Text(*actors) : arguments_.dot ? WaitsDot(*actors) : FormatWaits(*actors));
  return absl::OkStatus();
}

absl::Status Client::Peers() {
  if (!arguments_.dot) return Show(&proto::Ops::Stub::ListPeers, proto::ListPeersRequest(), &FormatPeers);
  const absl::StatusOr<proto::NodePeers> peers = ReadNodePeers(channel_, AnswersWithin());
  if (peers.ok()) out_ << PeersDot({*peers});
  return peers.status();
}

absl::StatusOr<std::string> Client::TopText() {
  const absl::StatusOr<proto::NodeDetails> node = Ask(&proto::Ops::Stub::GetNode, proto::GetNodeRequest());
  if (!node.ok()) return node.status();
  const std::string head = arguments_.json ? "" : absl::StrCat(FormatNode(*node), "\n");
  if (arguments_.by == "handler-time") {
    proto::ListHandlerTimesRequest request;
    request.set_at_most(kTopActors);
    const absl::StatusOr<proto::ListHandlerTimesReply> times = Ask(&proto::Ops::Stub::ListHandlerTimes, request);
    if (!times.ok()) return times.status();
    return arguments_.json ? FormatJson(*times) : absl::StrCat(head, FormatHandlerTimes(*times));
  }
  proto::TopActorsRequest request;
  request.set_at_most(kTopActors);
  if (arguments_.by == "age") request.set_by(proto::BY_AGE);
  if (arguments_.by == "waiting-bytes") request.set_by(proto::BY_WAITING_BYTES);
  const absl::StatusOr<proto::ListActorsReply> top = Ask(&proto::Ops::Stub::TopActors, request);
  if (!top.ok()) return top.status();
  return absl::StrCat(head, Text({top->actors().begin(), top->actors().end()}));
}

absl::Status Client::Top() {
  absl::StatusOr<std::string> text = TopText();
  if (!text.ok()) return text.status();
  if (!arguments_.watch) {
    out_ << *text;
    return absl::OkStatus();
  }
  const absl::Notification never;  // an interrupt ends the program
  while (true) {
    Draw(text);
    if (!out_.good()) return absl::OkStatus();  // main says so
    (void)never.WaitForNotificationWithTimeout(terminal_.watch_period);
    text = TopText();
  }
}

void Client::Draw(const absl::StatusOr<std::string>& text) {
  const Window window = arguments_.json || terminal_.window == nullptr ? Window() : terminal_.window();
  const bool is_screen = window.rows > 0;
  if (!text.ok()) {
    const std::string error =
        absl::StrCat("understudy: ", Told(text.status(), arguments_, terminal_).message(), "; trying again\n");
    (is_screen ? out_ : terminal_.prompt) << (is_screen ? Screen(error, window) : error) << std::flush;
    return;
  }
  out_ << (is_screen ? Screen(*text, window) : absl::StrCat(*text, arguments_.json ? "" : "\n")) << std::flush;
}

absl::Status Client::Names() {
  const absl::StatusOr<proto::ListNamesReply> names =
      AllNamePages(Operand(0), [this](const auto& page) { return Ask(&proto::Ops::Stub::ListNames, page); });
  if (!names.ok()) return names.status();
  out_ << (arguments_.json ? FormatJson(*names) : FormatNames(*names));
  return absl::OkStatus();
}

template <class Entry>
std::string Client::Text(Entry& entry) const {
  MakePrintable(entry);
  return arguments_.json ? FormatJson(entry) : FormatEntry(entry, absl::LocalTimeZone());
}

template <class Request, class Entry>
absl::Status Client::Follow(Stream<Request, Entry> method, const Request& request) {
  grpc::ClientContext context;
  const std::unique_ptr<grpc::ClientReader<Entry>> entries = (channel_.stub().*method)(&context, request);
  Entry entry;
  bool entry_has_come = false;
  while (out_.good() && entries->Read(&entry)) {
    entry_has_come = true;
    out_ << Text(entry) << std::flush;
  }
  if (!out_.good()) return absl::OkStatus();  // main says so
  absl::Status ended = ToAbsl(entries->Finish());
  if (!entry_has_come || !absl::IsUnavailable(ended)) return ended;
  return absl::CancelledError("the node has ended the connection");
}

template <class Entry>
absl::Status Client::Entries(Stream<proto::FollowRequest, Entry> method) {
  proto::FollowRequest request;
  if (arguments_.follow) return Follow(method, request);
  request.set_kept_only(true);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + AnswersWithin());
  const std::unique_ptr<grpc::ClientReader<Entry>> entries = (channel_.stub().*method)(&context, request);
  // All are read before any is written: who reads the output, such as a pager, may take longer than the node may.
  std::string text;
  for (Entry entry; entries->Read(&entry);) absl::StrAppend(&text, Text(entry));
  out_ << text;
  return ToAbsl(entries->Finish());
}

absl::Status Client::Trace() {
  proto::TraceRequest request;
  request.set_actor(Operand(0));
  request.set_messages_max(arguments_.messages);
  request.set_time_nanos(absl::ToInt64Nanoseconds(arguments_.time));
  request.set_every(arguments_.every);
  request.set_contents(arguments_.contents);
  if (arguments_.contents && !arguments_.yes) {
    terminal_.prompt << "show the contents of the messages of " << PrintableText(Operand(0), Backslashes::kKeep)
                     << ", which may be private? [y/N] " << std::flush;
    if (absl::Status answered = AwaitYes(); !answered.ok()) return answered;
  }
  return Follow(&proto::Ops::Stub::TraceMessages, request);
}

absl::Status Client::AwaitYes() {
  std::string answer;
  std::getline(terminal_.in, answer);
  if (answer == "y" || answer == "yes") return absl::OkStatus();
  return absl::CancelledError("nothing was done: the answer was not y");
}

absl::Status Client::Confirm(proto::ActRequest& request) {
  const absl::StatusOr<proto::NodeDetails> node = Ask(&proto::Ops::Stub::GetNode, proto::GetNodeRequest());
  if (absl::IsPermissionDenied(node.status())) {
    return absl::PermissionDeniedError(
        absl::StrCat(node.status().message(), "; the question before an action needs that, --yes asks none"));
  }
  if (!node.ok()) return node.status();
  std::string what;
  if (request.action() == proto::DRAIN) {
    what = absl::StrCat("drain node ", node->name(), ", process ", node->pid());
  } else if (request.action() == proto::LOG_LEVEL) {
    what = absl::StrCat("set the log level of node ", node->name(), " to ", Operand(0), "; it is ",
                        node->log_level().empty() ? "none" : node->log_level());
  } else {
    proto::GetActorRequest actor;
    actor.set_actor(request.actor());
    const absl::StatusOr<proto::ActorDetails> found = Ask(&proto::Ops::Stub::GetActor, actor);
    if (!found.ok()) return found.status();
    const bool is_pid = request.actor() == found->pid() || absl::StrCat("<", request.actor(), ">") == found->pid();
    const std::string name = is_pid ? absl::StrJoin(found->names(), ", ") : Operand(0);
    const std::string child =
        request.action() == proto::RESTART ? absl::StrCat(" child '", Operand(1), "' of") : std::string();
    const std::string time =
        request.action() == proto::SUSPEND ? absl::StrCat(" for ", absl::FormatDuration(arguments_.time)) : "";
    what = absl::StrCat(arguments_.command, child, " ", found->pid(), name.empty() ? "" : absl::StrCat(" (", name, ")"),
                        " on node ", node->name(), time);
    request.set_actor(found->pid());
  }
  terminal_.prompt << what << "? [y/N] " << std::flush;
  return AwaitYes();
}

absl::Status Client::Act(proto::Action action) {
  proto::ActRequest request;
  request.set_action(action);
  if (action == proto::LOG_LEVEL) {
    request.set_log_level(Operand(0));
  } else {
    request.set_actor(Operand(0));
  }
  if (action == proto::RESTART) request.set_child(Operand(1));
  if (action == proto::SUSPEND) request.set_time_nanos(absl::ToInt64Nanoseconds(arguments_.time));
  if (!arguments_.yes) {
    if (absl::Status confirmed = Confirm(request); !confirmed.ok()) return confirmed;
  }
  const absl::StatusOr<proto::ActReply> reply = Ask(&proto::Ops::Stub::Act, request);
  if (!reply.ok()) return reply.status();
  if (arguments_.json) {
    out_ << FormatJson(*reply);
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
      {"tree", [&] { return Tree(); }},
      {"ps", [&] { return Ps(); }},
      {"top", [&] { return Top(); }},
      {"actor", [&] { return Show(&Stub::GetActor, actor, &FormatActor); }},
      {"waits", [&] { return Waits(); }},
      {"names", [&] { return Names(); }},
      {"peers", [&] { return Peers(); }},
      {"workers", [&] { return Show(&Stub::ListWorkers, proto::ListWorkersRequest(), &FormatWorkers); }},
      {"dead-letters", [&] { return Entries(&Stub::FollowDeadLetters); }},
      {"events", [&] { return Entries(&Stub::FollowEvents); }},
      {"crashes", [&] { return Entries(&Stub::FollowCrashReports); }},
      {"trace", [&] { return Trace(); }},
      {"stop", [&] { return Act(proto::STOP); }},
      {"kill", [&] { return Act(proto::KILL); }},
      {"restart", [&] { return Act(proto::RESTART); }},
      {"suspend", [&] { return Act(proto::SUSPEND); }},
      {"resume", [&] { return Act(proto::RESUME); }},
      {"drain", [&] { return Act(proto::DRAIN); }},
      {"log-level", [&] { return Act(proto::LOG_LEVEL); }},
  };
  return commands.at(arguments_.command)();
}

}  // namespace

absl::Status RunCommand(const Arguments& arguments, const Terminal& terminal) {
  if (arguments.command == "cluster") return RunCluster(arguments, terminal);
  const absl::Status reachable = CheckTarget({.address = arguments.ops, .tls = arguments.tls});
  if (!reachable.ok()) return reachable;
  return Told(Client(arguments, terminal).Run(), arguments, terminal);
}

}  // namespace understudy::tool

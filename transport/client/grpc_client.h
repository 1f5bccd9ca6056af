// GrpcClient<R>: an actor that stands for a plain gRPC service. Its ref is R, the ref class of the .proto service, so
// those who ask it cannot tell it from an actor that serves the rpcs itself, and in a test the generated mock of the
// service takes its place.
//
//   auto tree = OneForOne().Child("payments", Of<GrpcClient<PaymentsRef>>(GrpcClientOptions{
//                                                 .target = "127.0.0.1:8080"})
//                                                 .RegisteredAs("payments").Backoff({.min = absl::Milliseconds(100)}));
//   …
//   auto asked = Named<PaymentsRef>("payments")->charge().Ask(request, absl::Seconds(2));
//   absl::StatusOr<ChargeReply> charged = co_await asked;
//
// Each ask of a mailbox is one call of its rpc, with the ask's deadline; the server is called at most once. An ask that
// is cancelled, or whose asker ends, cancels the call. An rpc that `returns (stream M)` is a stream (stream.h): the
// next item is read when the last one was written, so an asker that reads slowly holds up the server. An rpc with the
// option `cast` is called for each tell, with GrpcClientOptions::cast_timeout; an error counts the tell as rejected.
// An rpc that takes a `(stream M)` is an upload (upload.h): the next item of the asker is taken when gRPC has taken the
// last one, so a server that reads slowly holds up the asker's Write. Only after Finish(OK) the server is told that it
// has all items; whatever else ends them cancels the call. An answer of the server ends the upload at any time.
// Traces: a call for a message of a trace (actors/trace.h) carries it as `traceparent`, so a gateway or another service
// can continue it. The client sends no other metadata but gRPC's.
//
// Errors: those of a gateway (gateway.h) are the library's again, so that IsFull or IsRestarting hold as they do beside
// the actor. Of other servers UNAVAILABLE is NoConnection, UNIMPLEMENTED NoMailbox, DEADLINE_EXCEEDED Expired,
// CANCELLED Cancelled, and every other code a status of the server's own. A reply that cannot be parsed is Internal.
// Connection: the client connects when it starts, and has started at once. Without a connection calls end with
// NoConnection, or wait while one is attempted. A client that has had none for `connect_within`, all that time trying,
// ends with NoConnection, also if nobody calls; the calls that wait get CalleeExited with that reason. So monitors and
// links tell of the server, and a supervisor starts the client again, with its backoff.
// Bounds: GrpcClientOptions::calls_max calls, streams and uploads are under way. Further ones, and those beyond
// requests_bytes_max, wait in the mailboxes, which have the default capacities, and then are Full. Of an upload the
// item counts that gRPC has not taken yet. Start: invalid options, or a target off loopback without TLS, fail it.
// Threads: gRPC's own threads pass bytes; the client's turns serialize and parse. It needs real time and sockets, so it
// is no actor for a TestSystem.
#ifndef UNDERSTUDY_TRANSPORT_CLIENT_GRPC_CLIENT_H_
#define UNDERSTUDY_TRANSPORT_CLIENT_GRPC_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/behavior.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/internal/asks/outside_asks.h"
#include "understudy/actors/internal/send/mailbox_layout.h"
#include "understudy/actors/internal/send/wire_name.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pending.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/stream_writer.h"
#include "understudy/actors/task.h"
#include "understudy/transport/client/grpc_client_options.h"
#include "understudy/transport/client/rpc_flow.h"
#include "understudy/transport/client/service_channel.h"

namespace understudy {
namespace internal {

// A mailbox whose name is known at run time only.
template <class M>
class ServiceMailbox final : public TypedMailbox<M> {
 public:
  explicit ServiceMailbox(const MailboxDeclaration& declaration) : TypedMailbox<M>(declaration) {}
};

// An rpc of a service.
template <class M>
struct ServiceRpc {
  explicit ServiceRpc(const MailboxDeclaration& declaration)
      : mailbox(declaration), path(absl::StrCat("/", declaration.wire_name)) {}
  const ServiceMailbox<M> mailbox;
  const std::string path;
};

// The part of a GrpcClient that does not depend on its service.
class GrpcClientBase : public Actor {
 protected:
  explicit GrpcClientBase(GrpcClientOptions options);
  ~GrpcClientBase() override;

  // The clauses of the mailboxes, for a behavior.
  class Clauses {
   public:
    template <class Clause>
    void Add(Clause clause) {
      drafts_.push_back(std::move(clause).TakeEntry());
    }
    std::vector<ClauseDraft> TakeEntry() && { return std::move(drafts_); }

   private:
    std::vector<ClauseDraft> drafts_;
  };

  // Serves `clauses`, and looks at the connection.
  void Serve(Clauses clauses);
  bool HasRoom() const { return under_way_ < options_.calls_max && requests_bytes_ < options_.requests_bytes_max; }
  absl::Duration cast_timeout() const { return options_.cast_timeout; }
  OutsideAsks& asks() { return *asks_; }
  size_t& requests_bytes() { return requests_bytes_; }

  // Each of these is a call, until its object is gone. They are for a coroutine that has just begun.
  class UnderWay {
   public:
    explicit UnderWay(GrpcClientBase& client, size_t request_bytes = 0)
        : client_(client), request_bytes_(request_bytes) {
      ++client_.under_way_;
      client_.requests_bytes_ += request_bytes_;
    }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;
    ~UnderWay() {
      --client_.under_way_;
      client_.requests_bytes_ -= request_bytes_;
    }

   private:
    GrpcClientBase& client_;
    const size_t request_bytes_;
  };

  // Calls `path`.
  Task<RpcReply> CallBytes(const std::string& path, std::string request, absl::Duration timeout);
  // Begins a call whose answer or request is a stream, with the deadline of the call that is being handled. Without a
  // `request` that is a stream.
  std::unique_ptr<RpcStream> StreamBytes(const std::string& path, absl::optional<std::string> request);
  // Runs the flows of a call with items, one of which carries the answers, until one of the flows ends the call.
  // Returns how the call ended.
  Task<absl::Status> Run(std::vector<RpcFlow*> flows);

 private:
  StartResult Start() override;
  void Look();
  // The time until the deadline of the call that is being handled, or `timeout` if that is shorter.
  absl::Duration TimeLeft(absl::Duration timeout);

  const GrpcClientOptions options_;
  absl::optional<Behavior> serving_;
  int under_way_ = 0;
  size_t requests_bytes_ = 0;
  std::shared_ptr<OutsideAsks> asks_;        // null until Start
  std::unique_ptr<ServiceChannel> channel_;  // null until Start
  absl::optional<MonotonicTime> lost_at_;    // since when there has been no connection
};

}  // namespace internal

template <class R>
class GrpcClient final : public internal::GrpcClientBase {
 public:
  using Ref = R;

  explicit GrpcClient(GrpcClientOptions options) : GrpcClientBase(std::move(options)) {
    Clauses clauses;
    R::ForEachRpc([&](absl::string_view name, auto channel) { Add(name, channel, clauses); });
    Serve(std::move(clauses));
  }

 private:
  template <class M>
  const internal::ServiceRpc<M>& AddRpc(absl::string_view name) {
    using Traits = internal::MessageTraits<M>;
    internal::MailboxDeclaration declaration;
    declaration.hash = internal::MailboxNames::Intern(absl::StrCat(R::ActorType::kService, "/", name));
    declaration.wire_name = internal::MailboxNames::Find(declaration.hash);  // never freed
    declaration.request = &internal::TypeOf<typename Traits::Request>();
    if constexpr (Traits::kIsCall) declaration.reply = &internal::TypeOf<typename Traits::Reply>();
    if constexpr (Traits::kIsUpload) declaration.upload_item = &internal::TypeOf<typename Traits::UploadItem>();
    declaration.item_bits = internal::ItemBits((Traits::kIsStream ? internal::kStreamAsk : 0) |
                                               (Traits::kIsUpload ? internal::kUploadAsk : 0));
    declaration.capacity_bytes = limits::kMailboxCapacityBytes;
    auto rpc = std::make_shared<const internal::ServiceRpc<M>>(declaration);
    rpcs_.push_back(rpc);
    return *rpc;
  }

  template <class Item, class Reply>
  void Add(absl::string_view name, Channel<Call<Stream<Item>, Reply>> (R::* /*channel*/)() const, Clauses& clauses) {
    const auto& rpc = AddRpc<Call<Stream<Item>, Reply>>(name);
    auto upload = [this, &rpc](Stream<Item> items) { return UploadToService<Item, Reply>(rpc.path, std::move(items)); };
    clauses.Add(On(rpc.mailbox, std::move(upload)).When(&GrpcClient::HasRoom).Interleaved());
  }
  template <class Item, class Answer>
  void Add(absl::string_view name, Channel<Call<Stream<Item>, Stream<Answer>>> (R::* /*channel*/)() const,
           Clauses& clauses) {
    const auto& rpc = AddRpc<Call<Stream<Item>, Stream<Answer>>>(name);
    auto converse = [this, &rpc](Stream<Item> items, StreamWriter<Answer> writer) {
      return ConverseWithService<Item, Answer>(rpc.path, std::move(items), std::move(writer));
    };
    clauses.Add(On(rpc.mailbox, std::move(converse)).When(&GrpcClient::HasRoom).Interleaved());
  }
  template <class Request, class Reply>
  void Add(absl::string_view name, Channel<Call<Request, Reply>> (R::* /*channel*/)() const, Clauses& clauses) {
    const auto& rpc = AddRpc<Call<Request, Reply>>(name);
    auto call = [this, &rpc](const Request& request) { return CallService<Request, Reply>(rpc.path, request); };
    clauses.Add(On(rpc.mailbox, std::move(call)).When(&GrpcClient::HasRoom).Interleaved());
  }
  template <class Request, class Item>
  void Add(absl::string_view name, Channel<Call<Request, Stream<Item>>> (R::* /*channel*/)() const, Clauses& clauses) {
    const auto& rpc = AddRpc<Call<Request, Stream<Item>>>(name);
    auto stream = [this, &rpc](const Request& request, StreamWriter<Item> writer) {
      return StreamService<Request, Item>(rpc.path, request, std::move(writer));
    };
    clauses.Add(On(rpc.mailbox, std::move(stream)).When(&GrpcClient::HasRoom).Interleaved());
  }
  template <class Message>
  void Add(absl::string_view name, Channel<Message> (R::* /*channel*/)() const, Clauses& clauses) {
    const auto& rpc = AddRpc<Message>(name);
    auto cast = [this, &rpc](const Message& message) { return CastToService<Message>(rpc.path, message); };
    clauses.Add(On(rpc.mailbox, std::move(cast)).When(&GrpcClient::HasRoom).Interleaved());
  }

  template <class Request, class Reply>
  Task<absl::StatusOr<Reply>> CallService(const std::string& path, const Request& request) {
    absl::StatusOr<std::string> bytes = internal::SerializeForServer(request);
    if (!bytes.ok()) co_return std::move(bytes).status();
    auto calling = CallBytes(path, *std::move(bytes), absl::InfiniteDuration());
    const internal::RpcReply reply = co_await calling;
    co_return internal::ParseFromServer<Reply>(reply);
  }

  template <class Message>
  Task<absl::Status> CastToService(const std::string& path, const Message& message) {
    absl::StatusOr<std::string> bytes = internal::SerializeForServer(message);
    if (!bytes.ok()) co_return std::move(bytes).status();
    auto calling = CallBytes(path, *std::move(bytes), cast_timeout());
    const internal::RpcReply reply = co_await calling;  // a google.protobuf.Empty
    co_return reply.status;
  }

  template <class Request, class Item>
  Task<> StreamService(const std::string& path, const Request& request, StreamWriter<Item> writer) {
    absl::StatusOr<std::string> bytes = internal::SerializeForServer(request);
    if (!bytes.ok()) co_return writer.Finish(std::move(bytes).status());
    const UnderWay under_way(*this, bytes->size());
    const std::unique_ptr<internal::RpcStream> call = StreamBytes(path, *std::move(bytes));
    internal::AnswerFlow<Item> answers(asks(), *call, writer);
    auto running = Run({&answers});
    absl::Status end = co_await running;
    writer.Finish(std::move(end));
  }

  template <class Item, class Reply>
  Task<absl::StatusOr<Reply>> UploadToService(const std::string& path, Stream<Item> items) {
    const UnderWay under_way(*this);
    const std::unique_ptr<internal::RpcStream> call = StreamBytes(path, absl::nullopt);
    internal::ReplyFlow<Reply> reply(asks(), *call);
    internal::ItemFlow<Item> sent(asks(), *call, items, requests_bytes());
    auto running = Run({&reply, &sent});
    absl::Status end = co_await running;
    if (!end.ok()) co_return end;
    co_return reply.TakeReply();
  }

  template <class Item, class Answer>
  Task<> ConverseWithService(const std::string& path, Stream<Item> items, StreamWriter<Answer> writer) {
    const UnderWay under_way(*this);
    const std::unique_ptr<internal::RpcStream> call = StreamBytes(path, absl::nullopt);
    internal::AnswerFlow<Answer> answers(asks(), *call, writer);
    internal::ItemFlow<Item> sent(asks(), *call, items, requests_bytes());
    auto running = Run({&answers, &sent});
    absl::Status end = co_await running;
    writer.Finish(std::move(end));
  }

  std::vector<std::shared_ptr<const void>> rpcs_;  // each a ServiceRpc
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_CLIENT_GRPC_CLIENT_H_

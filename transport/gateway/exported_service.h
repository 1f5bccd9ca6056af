// Export: an actor as the gRPC service that its .proto file declares (GatewayOptions::exports).
//
//   Export<AuctionRef>("auction/lot-1")                                  // every client may call it
//   Export<AdminRef>("auction/admin").ForClients({"ops.example"})        // these alone; the gateway needs TLS
//   Export<AuctionRef>("auction/lot-1").WithCaller({"x-request-id"})     // the actor is told who calls (caller.h)
//
// `AuctionRef` is the ref class that cc_actor_library generates for `service Auction`. The actor is found by its name
// at each call, because a restarted actor has a new ref. It is a name of this node (RegisteredAs) or of the cluster
// (PublishedAs), whose owner may be on another node.
//
// Values; any thread.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_EXPORTED_SERVICE_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_EXPORTED_SERVICE_H_

#include <functional>
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
#include "understudy/actors/actor_system.h"
#include "understudy/actors/ask_handle.h"
#include "understudy/actors/caller.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/error.h"
#include "understudy/actors/message.h"
#include "understudy/actors/message_bytes.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/trace.h"
#include "understudy/transport/gateway/stream_relay.h"

namespace understudy {
namespace internal {

// A client's call that waits for its outcome.
class ClientCall {
 public:
  // Ends the call with the bytes of its reply, or an error. Called exactly once, on any thread. Does not block.
  virtual void End(absl::StatusOr<std::string> reply) = 0;

 protected:
  ~ClientCall() = default;
};

// The parts of a client's call.
struct ClientRequest {
  Pid to;                                // the actor
  absl::string_view bytes;               // at most INT_MAX
  absl::Duration timeout;                // of a stream it may be infinite
  std::shared_ptr<const Caller> caller;  // null if the service is exported without WithCaller
};

// How one rpc of an exported service begins.
struct ExportedRpc {
  // Parses the request and sends it to the actor. Calls call->End, perhaps before it returns. Returns the handle that
  // cancels the ask, if there is one. Not in an actor's turn.
  using Begin = std::function<AskHandle(ActorSystem& system, ClientRequest request, ClientCall* call)>;
  // Parses the request likewise, unless it is a stream, and spawns a relay, which asks the actor for `client`. Calls
  // client->End, perhaps before it returns, and also when the actor that it returns is ended. Returns null if it
  // spawned none.
  using BeginStream = std::function<Pid(ActorSystem& system, ClientRequest request, ClientStream* client)>;
  std::string name;           // such as "MakeOffer"
  Begin begin;                // null if the rpc takes or returns a stream
  BeginStream begin_stream;   // null if it does not
  bool takes_stream = false;  // ClientRequest::bytes is then empty
};

template <class R, class Request, class Reply>
ExportedRpc RpcOf(absl::string_view name, Channel<Call<Request, Reply>> (R::*channel)() const) {
  auto begin = [channel](ActorSystem& system, ClientRequest client, ClientCall* call) {
    absl::StatusOr<Request> request = ParseRequest<Request>(client.bytes);
    if (!request.ok()) {
      call->End(std::move(request).status());
      return AskHandle();
    }
    const auto to = (R(client.to).*channel)();
    auto end = [call](absl::StatusOr<Reply> reply) { call->End(SerializeReply(std::move(reply))); };
    if (client.caller == nullptr) return system.Ask(to, *std::move(request), client.timeout, std::move(end));
    return system.AskFor(std::move(client.caller), to, *std::move(request), client.timeout, std::move(end));
  };
  return {.name = std::string(name), .begin = std::move(begin)};
}

// Spawns a relay, whose constructor takes `arguments`, a RelayCaller and a StreamEnd.
template <class Relay, class... Arguments>
Pid SpawnRelay(ActorSystem& system, ClientRequest& asked, ClientStream* client, Arguments... arguments) {
  // How the call ends if no relay is made.
  StreamEnd end(client, MakeError(ErrorKind::kFull, "a stream counts as an actor, and the system has actors_max"));
  RelayCaller caller{.deadline = system.clock().Now() + asked.timeout,
                     .table = &system.callers(),
                     .caller = std::move(asked.caller),
                     .trace = CurrentTrace()};
  return system.SpawnMade({},
                          [... arguments = std::move(arguments), caller = std::move(caller),
                           end = std::move(end)]() mutable -> std::unique_ptr<Actor> {
                            return std::make_unique<Relay>(std::move(arguments)..., std::move(caller), std::move(end));
                          });
}

template <class R, class Request, class Item>
ExportedRpc RpcOf(absl::string_view name, Channel<Call<Request, Stream<Item>>> (R::*channel)() const) {
  auto begin = [channel](ActorSystem& system, ClientRequest asked, ClientStream* client) {
    absl::StatusOr<Request> request = ParseRequest<Request>(asked.bytes);
    if (!request.ok()) {
      client->End(std::move(request).status());
      return Pid();
    }
    return SpawnRelay<AskRelay<Request, Item>>(system, asked, client, (R(asked.to).*channel)(), *std::move(request));
  };
  return {.name = std::string(name), .begin_stream = std::move(begin)};
}

template <class R, class Item, class Answer>
ExportedRpc UploadRpcOf(absl::string_view name, Channel<Call<Stream<Item>, Answer>> (R::*channel)() const) {
  auto begin = [channel](ActorSystem& system, ClientRequest asked, ClientStream* client) {
    return SpawnRelay<UploadRelay<Item, Answer>>(system, asked, client, (R(asked.to).*channel)());
  };
  return {.name = std::string(name), .begin_stream = std::move(begin), .takes_stream = true};
}

template <class R, class Item, class Reply>
ExportedRpc RpcOf(absl::string_view name, Channel<Call<Stream<Item>, Reply>> (R::*channel)() const) {
  return UploadRpcOf(name, channel);
}

template <class R, class Item, class ReplyItem>
ExportedRpc RpcOf(absl::string_view name, Channel<Call<Stream<Item>, Stream<ReplyItem>>> (R::*channel)() const) {
  return UploadRpcOf(name, channel);
}

// A cast: the client is answered when the mailbox has accepted the message. google.protobuf.Empty has no bytes.
template <class R, class Message>
ExportedRpc RpcOf(absl::string_view name, Channel<Message> (R::*channel)() const) {
  auto begin = [channel](ActorSystem&, const ClientRequest& client, ClientCall* call) {
    absl::StatusOr<Message> message = ParseRequest<Message>(client.bytes);
    absl::Status sent = message.status();
    if (sent.ok()) sent = (R(client.to).*channel)().Send(*std::move(message));
    if (sent.ok()) {
      call->End(std::string());
    } else {
      call->End(std::move(sent));
    }
    return AskHandle();
  };
  return {.name = std::string(name), .begin = std::move(begin)};
}

}  // namespace internal

class ExportedService {
 public:
  // Prefer Export.
  ExportedService(std::string service, std::string actor, std::vector<internal::ExportedRpc> rpcs)
      : service_(std::move(service)), actor_(std::move(actor)), rpcs_(std::move(rpcs)) {}

  // Lets only those clients call the service whose certificate has one of `names` among its subject alternative names
  // (DNS names, URIs, e-mail and IP addresses, compared byte for byte, of whichever kind: a CA that lets clients choose
  // their URIs lets them choose these names). Others get PERMISSION_DENIED, before their request is read. An empty list
  // lets nobody.
  ExportedService ForClients(std::vector<std::string> names) && {
    clients_ = std::move(names);
    return std::move(*this);
  }

  // Lets the actor ask who calls (Context::Caller): the client's certificate, deadline, and metadata under
  // `metadata_keys`, which are in lower case. A call with more of either than
  // gateway_limits.h allows is answered RESOURCE_EXHAUSTED. Each call then costs a copy of these. A cast has no
  // caller.
  ExportedService WithCaller(std::vector<std::string> metadata_keys = {}) && {
    caller_metadata_ = std::move(metadata_keys);
    return std::move(*this);
  }

  // The full name of the .proto service, such as "auction.Auction".
  const std::string& service() const { return service_; }
  // The name of the actor.
  const std::string& actor() const { return actor_; }
  const std::vector<internal::ExportedRpc>& rpcs() const { return rpcs_; }
  // The clients that may call the service; none if all may.
  const absl::optional<std::vector<std::string>>& clients() const { return clients_; }
  // The metadata keys of WithCaller; none if the actor is told nothing of its callers.
  const absl::optional<std::vector<std::string>>& caller_metadata() const { return caller_metadata_; }

 private:
  std::string service_;
  std::string actor_;
  std::vector<internal::ExportedRpc> rpcs_;
  absl::optional<std::vector<std::string>> clients_;
  absl::optional<std::vector<std::string>> caller_metadata_;
};

// Exports the actor with that name, which must have the mailboxes of R's service: a call of an rpc whose mailbox the
// actor lacks is answered UNIMPLEMENTED.
template <class R>
[[nodiscard]] ExportedService Export(std::string actor) {
  std::vector<internal::ExportedRpc> rpcs;
  R::ForEachRpc([&rpcs](absl::string_view name, auto channel) { rpcs.push_back(internal::RpcOf<R>(name, channel)); });
  return ExportedService(std::string(R::ActorType::kService), std::move(actor), std::move(rpcs));
}

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_EXPORTED_SERVICE_H_

// Gateway: serves actors as plain gRPC services, to clients that know nothing of Understudy.
//
//   ActorSystem system;
//   SupervisorRef tree = system.Spawn(OneForOne().Child("lot", Of<EnglishAuction>(…).RegisteredAs("auction/lot-1")));
//   absl::StatusOr<std::unique_ptr<Gateway>> gateway = Gateway::Start(system, {
//       .listen = {"127.0.0.1:8080"},
//       .exports = {Export<AuctionRef>("auction/lot-1")},      // auction.proto's `service Auction`
//   });
//
// A client calls /auction.Auction/MakeOffer as of any gRPC server. Each unary rpc is an ask of the actor's mailbox, and
// the client's deadline is the ask's; a client that cancels its call, or whose connection ends, cancels the ask. An rpc
// with `option (understudy.options.cast)` is answered OK when the mailbox has accepted the message. Each rpc that
// `returns (stream M)` is a stream of the actor (stream.h): the client gets its items and then the status with which it
// ends. A client that does not read holds up the actor's StreamWriter, and one that cancels, goes or reaches its
// deadline cancels the stream. An rpc that takes a `(stream M)` is an upload (upload.h), and may return a stream too:
// the actor's Stream gives the client's items, and OK at their end only if the client has said that there are no more.
// An actor that does not read holds up the client, and its answer ends the call also while the client still sends.
//
// Errors: the code of the absl::Status is that of the call's status, and the text its message. An error of the library
// (error.h) has its kind in the status details (grpc-status-details-bin), as a google.rpc.ErrorInfo with the domain
// "understudy" and a reason such as "FULL" or "CALLEE_EXITED". A request that cannot be parsed is INTERNAL, as in
// gRPC's own servers, and does not reach the actor. An unknown service or method is UNIMPLEMENTED.
// Health: the gateway serves grpc.health.v1.Health, Check and Watch. A service is known there by its own name
// ("auction.Auction") and by the actor's, and is SERVING while an actor has the name: not while the actor is down and
// will be restarted. The empty name is the node as a whole, whichever actors are down. No name is SERVING before the
// tree has started (GatewayOptions::node) and once the node or the gateway drains.
// Bounds: those of GatewayOptions. Beyond the bounds of calls and bytes a call is answered RESOURCE_EXHAUSTED; beyond
// calls_per_connection_max it waits at the client; a connection beyond connections_max is closed. A call that waits
// for its answer, and a stream, counts as an actor of the system (ActorSystem::Ask).
// Security: off loopback a gateway requires TLS, and then each client needs a certificate that the CA has signed;
// ExportedService::ForClients says which may call what. On loopback without TLS every process of the machine may call.
// Callers: an actor whose service is exported WithCaller may ask who calls (Context::Caller): the client's certificate,
// its deadline, and the metadata under the keys that the export names.
// Traces: a client's `traceparent` is continued in the system's traces (actors/trace.h), if the client has sampled it
// and within TracingOptions::foreign_per_second; other calls are sampled as the system's options say. Each traced call
// has a span of its own. Threads: any, but Drain and the destructor must not run in an actor's turn. Calls are read,
// and their requests parsed, by the thread that polls the events of the process (actors/event_source.h), usually an
// idle worker, which then runs the actor too. Lifetime: the gateway must be destroyed before its system, and before the
// node of GatewayOptions::node.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_GATEWAY_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_GATEWAY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/transport/credentials.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/node.h"

namespace understudy {

// When a gateway serves reflection: if all of its addresses are loopback ones, or always, or never.
enum class ServeReflection { kOnLoopback, kAlways, kNever };

struct GatewayOptions {
  // The TCP addresses at which clients connect. Port 0 means a free port. A node of the same system has addresses of
  // its own.
  std::vector<std::string> listen = {"127.0.0.1:0"};
  // The same rules hold as for a node (credentials.h). With TLS every client must have a
  // certificate.
  Credentials credentials;
  // The actors that clients may call: each service at most once. With `node` there may be none: then clients see the
  // node's health.
  std::vector<ExportedService> exports;
  // The system's node, if it has one. Until that is ready (Node::Ready, which RunTree calls when the tree has started)
  // calls are answered UNAVAILABLE, and health says NOT_SERVING. The node's Drain, and so its RunTree on SIGTERM,
  // drains the gateway first. A gateway without a node serves at once.
  Node* node = nullptr;
  // Reflection (grpc.reflection.v1 and v1alpha, as grpcurl uses it) tells the exported services and the .proto files
  // that they need. With TLS every client whose certificate the CA has signed is told all of them.
  ServeReflection reflection = ServeReflection::kOnLoopback;
  // The timeout of a unary call whose client has set no deadline. A call that takes or returns a stream has none then.
  absl::Duration default_timeout = absl::Seconds(30);
  // The time that a client has to send the request of a call, from the beginning of the call, and to take the reply or
  // the end of a stream, from when it is there. A call that takes longer is cancelled. The items of streams have no
  // such limit; the requests and replies of reflection, and what health's Watch tells, have it each.
  absl::Duration transfer_timeout = absl::Minutes(1);
  // The time that calls under way have when the gateway is destroyed.
  absl::Duration drain_within = absl::Seconds(5);
  // Calls of all clients that are under way at once.
  int calls_max = 10'000;
  // How many of these calls may take or return a stream. A client may keep a stream open for as long as it likes.
  int streams_max = 1'000;
  // Calls under way on one connection; further ones wait at the client.
  int calls_per_connection_max = 100;
  // Connections of all clients to one address of `listen`. Those without a call yet are also bounded in their number,
  // their rate and their time (connection_gate.h).
  int connections_max = 1024;
  // A connection that has had no call for this long is closed, from a millisecond to a day. A client of gRPC's connects
  // again when it calls.
  absl::Duration connection_idle_max = absl::Minutes(5);
  // The bytes of one request, or of one item of a stream of requests. A larger one ends its call.
  size_t request_bytes_max = size_t{4} << 20;
  // The bytes of all requests whose calls are under way, as they are sent. Parsed, a message of many small fields may
  // take ten to twenty times as much memory. Of a stream of requests an item counts until the item after it
  // was written to the actor, and one that goes beyond the bound ends its call.
  size_t requests_bytes_max = size_t{64} << 20;
  // The bytes of all replies of unary calls that clients have not taken yet. A call whose reply goes beyond the bound
  // ends with RESOURCE_EXHAUSTED, although the actor has handled it. Of a stream one item is kept at a time.
  size_t replies_bytes_max = size_t{256} << 20;
};

struct GatewayCounters {
  int64_t calls = 0;    // calls of exported services that were admitted; their requests are read then
  int64_t refused = 0;  // calls beyond a bound of GatewayOptions, and streams during a drain
  // Gauges.
  int64_t under_way = 0;  // streams among them
  int64_t streams = 0;
  int connections = 0;
  int connections_without_call = 0;  // those on which no call has begun yet
};

class Gateway {
 public:
  // Starts a gateway for `system`. InvalidArgument: there are neither exports nor a node, a service is exported twice,
  // an actor's name or a number is invalid, the node is that of another system, an address is malformed or of a Unix
  // socket, or a TLS file is unusable. FailedPrecondition: an address needs TLS, or ForClients does. AlreadyExists,
  // Unavailable: the gateway cannot listen on an address. The actors need not have started.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Gateway>> Start(ActorSystem& system, GatewayOptions options);

  // Drains with GatewayOptions::drain_within, unless the gateway is drained already.
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // The addresses at which the gateway listens, in the order of GatewayOptions::listen, with the actual ports.
  const std::vector<std::string>& addresses() const;
  GatewayCounters counters() const;

  // Ends the gateway, in this order:
  //  1. Health is NOT_SERVING for every name; those who watch it are told, and their calls end. Calls of Watch and of
  //     reflection whose clients do not read are cancelled soon. No connection and no stream is accepted any more.
  //  2. The streams under way end, in half of the time at most, while unary calls are served.
  //  3. No call is accepted any more: clients' new calls get UNAVAILABLE, or go elsewhere.
  //  4. The calls under way, streams among them, end. Those that are left after `within` are cancelled.
  // Returns true if none of the calls of exported services had to be cancelled. The first call drains; others, at the
  // same time or later, wait for it and return the same. Drain the gateway before the system's Shutdown, so that calls
  // under way find their actors.
  bool Drain(absl::Duration within);

 private:
  class Parts;
  explicit Gateway(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_GATEWAY_H_

// Functions that a gateway's unary calls and streams share: they read what gRPC knows of a call and its client. Any
// thread.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_CALL_PARTS_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_CALL_PARTS_H_

#include <grpcpp/server_context.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "understudy/actors/caller.h"
#include "understudy/actors/pid.h"
#include "understudy/transport/gateway/call_budget.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/service_host.h"

namespace understudy::internal {

// Returns the error for a call whose client ended its stream of requests without sending one. A client that has
// disconnected, or whose request gRPC refused, never sees this error.
absl::Status NoRequestError();

// Admits a call, whose request has not been read yet, to the budget. PermissionDenied unless the client may call the
// service (ExportedService::ForClients); Unavailable until the gateway is ready; or the errors of CallBudget::Admit.
absl::Status AdmitCall(const ServiceHost& host, const ExportedService& exported, const grpc::ServerContextBase& context,
                       CallKind kind);

// Returns how a call ends whose ask of the actor `asked` has ended with `outcome`: the same, unless the actor ended
// before the request reached it. Then its name says how: Restarting if another actor has the name or will have it, else
// NoName.
absl::Status EndOfAsk(const ServiceHost& host, const ExportedService& exported, Pid asked, absl::Status outcome);

// Returns what the actor may ask of the call's client: null if the service is exported without WithCaller.
// ResourceExhausted if the client says more than the bounds allow.
absl::StatusOr<std::shared_ptr<const Caller>> CallerOf(const ServiceHost& host, const ExportedService& exported,
                                                       const grpc::ServerContextBase& context);

// Returns the time until the client's deadline, or `if_none` if the client has set none.
absl::Duration TimeoutOf(const grpc::ServerContextBase& context, absl::Duration if_none);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_CALL_PARTS_H_

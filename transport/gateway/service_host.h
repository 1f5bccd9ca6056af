// ServiceHost: the parts of a gateway that all its services use.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_SERVICE_HOST_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_SERVICE_HOST_H_

#include <atomic>
#include <functional>
#include <string>

#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/transport/gateway/call_budget.h"

namespace understudy::internal {

struct ServiceHost {
  ActorSystem* system = nullptr;
  CallBudget* budget = nullptr;
  // False until the node's tree has started. relaxed: no other data depends on it.
  std::atomic<bool> is_ready{false};
  absl::Duration default_timeout;  // of a call without a deadline
  // Called at the beginning of each call, with the client's address as gRPC prints it.
  std::function<void(const std::string& peer)> on_call;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_SERVICE_HOST_H_

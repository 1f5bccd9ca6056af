// HealthService: grpc.health.v1.Health for the names that a gateway exports.
//
// Until the gateway is ready no name is SERVING, nor once it or its node drains. Between, a name is SERVING while an
// actor has it, as the system's registry knows: an actor's end, also one after which its supervisor will start it
// again, makes the name NOT_SERVING before anybody else hears of it. The empty name, for the node as a whole, is
// SERVING all that time.
//
// gRPC's own service (EnableDefaultHealthCheckService) does not end calls of Watch when it shuts down, so a drain would
// wait for its whole time while anybody watches; nor does it bound those calls or tell of a connection's first call.
//
// Threads: any. A thread of the service tells those who watch, because a change of a name comes under the registry's
// lock, where nothing of gRPC may be called. Lifetime: must outlive the server's Shutdown, before which Drain must have
// been called.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_HEALTH_SERVICE_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_HEALTH_SERVICE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/registry.h"
#include "understudy/proto/gateway.pb.h"
#include "understudy/transport/gateway/call_server.h"
#include "understudy/transport/gateway/service_host.h"

namespace understudy::internal {

class HealthService final {
 public:
  // `actors`: by each name under which clients ask, the name of the actor. `host` must outlive this object.
  HealthService(const ServiceHost& host, std::map<std::string, std::string> actors);
  ~HealthService();

  // Adds the methods to `server`.
  void AddTo(CallServer& server);

  // ServiceHost::is_ready has become true. Those who watch are told.
  void Ready() { OnChange(); }
  // Every name is NOT_SERVING from now on. Those who watch are told, and their calls end.
  void Drain();
  // After Drain: cancels the calls of Watch that have not ended after `within`, and refuses later ones.
  void CancelCalls(absl::Duration within);

 private:
  class CheckCall;
  class WatchCall;

  proto::HealthReply::Serving StatusOf(const std::string& service) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Tells the clients that watch about each change of a service's state, until Stop.
  void Loop();
  void OnChange();
  bool HasNoCalls() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return calls_.empty(); }

  const ServiceHost& host_;
  Registry& registry_;
  const std::map<std::string, std::string> actors_;
  std::vector<uint64_t> registry_watches_;

  // Never held together with the registry's lock and mu_: the registry's listener takes it.
  absl::Mutex changed_mu_;
  bool has_changed_ ABSL_GUARDED_BY(changed_mu_) = false;
  bool is_stopping_ ABSL_GUARDED_BY(changed_mu_) = false;

  absl::Mutex mu_;
  bool is_draining_ ABSL_GUARDED_BY(mu_) = false;
  bool refuses_watches_ ABSL_GUARDED_BY(mu_) = false;
  size_t checks_ = 0;                                // calls of Check; used by the polling thread only
  std::set<WatchCall*> calls_ ABSL_GUARDED_BY(mu_);  // each deletes itself

  std::thread thread_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_HEALTH_SERVICE_H_

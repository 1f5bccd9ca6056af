// ReflectionService: grpc.reflection.v1 and v1alpha ServerReflection, for the services that a gateway exports.
//
// The service tells clients the names of these services and the .proto files that they need. It does not tell them of
// other .proto files that are linked into the program. gRPC's own reflection service (libgrpc++_reflection) does, holds
// a thread for each call, and adds itself to every server of the program that links it.
//
// Threads: any. Lifetime: must outlive the server's Shutdown, before which Drain must have been called.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_REFLECTION_SERVICE_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_REFLECTION_SERVICE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "google/protobuf/descriptor.h"
#include "understudy/proto/reflection.pb.h"
#include "understudy/transport/gateway/call_server.h"
#include "understudy/transport/gateway/service_host.h"

namespace understudy::internal {

class ReflectionService final {
 public:
  // `services`: the full names of the exported services. `host` must outlive this object.
  ReflectionService(const ServiceHost& host, std::vector<std::string> services);

  // Adds the methods to `server`.
  void AddTo(CallServer& server);

  // Ends the calls under way when their clients have taken their replies, and each later one.
  void Drain();
  // After Drain: cancels the calls that have not ended after `within`.
  void CancelCalls(absl::Duration within);

 private:
  class Call;

  void AddFile(const google::protobuf::FileDescriptor* file);
  void AddMessage(const google::protobuf::Descriptor& message);
  proto::ReflectionReply Answer(const proto::ReflectionRequest& request) const;
  bool HasNoCalls() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return calls_.empty(); }

  const ServiceHost& host_;
  const std::vector<std::string> services_;
  // Constant after construction. A client's names are looked up here and not in the program's DescriptorPool, which
  // keeps each name that it does not know.
  std::map<std::string, const google::protobuf::FileDescriptor*> files_;    // by name
  std::map<std::string, const google::protobuf::FileDescriptor*> symbols_;  // of files_, by full name

  absl::Mutex mu_;
  bool is_draining_ ABSL_GUARDED_BY(mu_) = false;
  std::set<Call*> calls_ ABSL_GUARDED_BY(mu_);  // each deletes itself
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_REFLECTION_SERVICE_H_

// StreamCall: a client's call of an rpc that returns a stream, as a reactor of gRPC's callback API.
//
// Invariants:
//  1. Three parties use the object: Begin, End and OnDone, each once. The last of them deletes it. End, and with it
//     OnDone, may run before Begin has returned.
//  2. One item is on its way to gRPC at a time, and Finish waits for it. OnDone comes after Finish only.
//  3. When the client has gone, the relay is ended, and its end calls End. So a call is over when either side is.
//
// Threads: gRPC's for the reactions, a worker for Write and End.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_STREAM_CALL_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_STREAM_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/pid.h"
#include "understudy/transport/gateway/call_trace.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/service_host.h"
#include "understudy/transport/gateway/stream_relay.h"

namespace understudy::internal {

class StreamCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer>, public ClientStream {
 public:
  // `host` must outlive the object, which is made by new and deletes itself.
  explicit StreamCall(const ServiceHost& host) : host_(host) {}

  // `exported` and `rpc` are used until this returns.
  void Begin(const ExportedService& exported, const ExportedRpc& rpc, const grpc::CallbackServerContext& context,
             const grpc::ByteBuffer& request);

  // ClientStream.
  void Write(std::string item, const Channel<Written>& written) override;
  void End(absl::Status status) override;

  // ServerWriteReactor.
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // `client` lacks the actor and the bytes.
  void StartRelay(const ExportedService& exported, const ExportedRpc& rpc, ClientRequest client,
                  const grpc::ByteBuffer& request);
  void CancelLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Release();

  const ServiceHost& host_;
  // Written by Begin before there is an outcome, read after it.
  bool is_admitted_ = false;
  size_t request_bytes_ = 0;
  std::unique_ptr<CallTrace> trace_;  // null if the call belongs to no trace
  std::atomic<int> users_{3};

  absl::Mutex mu_;
  bool is_cancelled_ ABSL_GUARDED_BY(mu_) = false;
  Pid relay_ ABSL_GUARDED_BY(mu_);                         // null until it is known
  absl::optional<absl::Status> end_ ABSL_GUARDED_BY(mu_);  // from End on
  bool is_writing_ ABSL_GUARDED_BY(mu_) = false;
  grpc::ByteBuffer item_ ABSL_GUARDED_BY(mu_);  // gRPC's while is_writing_
  Channel<Written> written_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_STREAM_CALL_H_

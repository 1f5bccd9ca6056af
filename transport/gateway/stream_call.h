// StreamCall and ClientUpload: a client's call whose answer, or request, is a stream, as a reactor of gRPC's callback
// API.
//
// Invariants:
//  1. Three parties use the object: Begin, End and OnDone, each once. The last of them deletes it. End, and with it
//     OnDone, may run before Begin has returned.
//  2. One answer is on its way to gRPC at a time, and Finish waits for it. OnDone comes after Finish only.
//  3. When the client has gone, the relay is ended, and its end calls End. So a call is over when either side is.
//
// Threads: gRPC's for the reactions, a worker for Read, Write and End.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_STREAM_CALL_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_STREAM_CALL_H_

#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/pid.h"
#include "understudy/transport/gateway/call_trace.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/service_host.h"
#include "understudy/transport/gateway/stream_relay.h"

namespace understudy::internal {

// What both have. `Reactor` is that of gRPC.
template <class Reactor>
class StreamCall : public Reactor, public ClientStream {
 public:
  // `host` must outlive the object, which is made by new and deletes itself.
  explicit StreamCall(const ServiceHost& host) : host_(host) {}

  // `request` is empty if the request is a stream. `exported` and `rpc` are used until this returns.
  void Begin(const ExportedService& exported, const ExportedRpc& rpc, const grpc::CallbackServerContext& context,
             const grpc::ByteBuffer& request);

  // ClientStream.
  void Write(std::string answer, const Channel<Written>& written) override;
  void End(absl::Status status) override;

  // Reactor.
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 protected:
  ~StreamCall() override = default;

  void CancelLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // True if nothing that the client sends matters any more.
  bool IsOverLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return is_cancelled_ || end_.has_value(); }

  const ServiceHost& host_;
  absl::Mutex mu_;
  size_t counted_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // what counts in the budget, if the call is admitted

 private:
  // `client` lacks the actor and the bytes.
  void StartRelay(const ExportedService& exported, const ExportedRpc& rpc, ClientRequest client,
                  const grpc::ByteBuffer& request);
  void Release();

  // Written by Begin before there is an outcome, read after it.
  bool is_admitted_ = false;
  std::unique_ptr<CallTrace> trace_;  // null if the call belongs to no trace
  std::atomic<int> users_{3};

  bool is_cancelled_ ABSL_GUARDED_BY(mu_) = false;
  Pid relay_ ABSL_GUARDED_BY(mu_);                         // null until it is known
  absl::optional<absl::Status> end_ ABSL_GUARDED_BY(mu_);  // from End on
  bool is_writing_ ABSL_GUARDED_BY(mu_) = false;
  grpc::ByteBuffer answer_ ABSL_GUARDED_BY(mu_);  // gRPC's while is_writing_
  Channel<Written> written_ ABSL_GUARDED_BY(mu_);
};

// A call of an rpc that takes one request.
using ClientAsk = StreamCall<grpc::ServerWriteReactor<grpc::ByteBuffer>>;

// What a read of a client's items gives.
struct ReadItem {
  grpc::ByteBuffer bytes;
  bool has_failed = false;  // there is no item because of an error, and not because the items have ended
};

}  // namespace understudy::internal

// gRPC tells OnReadDone of an error as it does of the end of the items. Here it still knows which it is. Not part of
// gRPC's public API.
template <>
class grpc::internal::CallOpRecvMessage<understudy::internal::ReadItem>
    : public grpc::internal::CallOpRecvMessage<grpc::ByteBuffer> {
 public:
  void RecvMessage(understudy::internal::ReadItem* item) {
    item_ = item;
    CallOpRecvMessage<grpc::ByteBuffer>::RecvMessage(&item->bytes);
  }

 protected:
  void FinishOp(bool* is_ok) {
    if (item_ != nullptr) item_->has_failed = !*is_ok;
    CallOpRecvMessage<grpc::ByteBuffer>::FinishOp(is_ok);
  }

 private:
  understudy::internal::ReadItem* item_ = nullptr;
};

namespace understudy::internal {

// A call of an rpc that takes a stream.
//
// A read that gives no item has found the end of the items, or the client has gone, or gRPC has ended the call, for an
// item that is too large or cannot be decompressed. The actor must not take the others for the first:
// grpc::ServerContext::IsCancelled is true by then if the client has gone, and ReadItem::has_failed if gRPC has ended
// the call, which IsCancelled tells later. A client that has said "no more" in the middle of an item, as none of gRPC's
// does, and then goes, is not told apart from one whose items have ended.
//
// An item counts in the budget's bytes until the item after it was written to the actor, because the stream's credit
// holds it until then.
class ClientUpload final : public StreamCall<grpc::ServerBidiReactor<ReadItem, grpc::ByteBuffer>> {
 public:
  // `context` is the call's.
  ClientUpload(const ServiceHost& host, const grpc::CallbackServerContext& context)
      : StreamCall(host), context_(context) {}

  // ClientStream.
  void Read(const Channel<Received>& received) override;

  // ServerBidiReactor.
  void OnReadDone(bool ok) override;

 private:
  // The client sends no more, or is gone.
  void OnEnd();
  absl::StatusOr<std::string> TakeItem();

  const grpc::CallbackServerContext& context_;
  ReadItem item_;  // gRPC's during a read, then OnReadDone's
  Channel<Received> received_ ABSL_GUARDED_BY(mu_);
  size_t item_bytes_ ABSL_GUARDED_BY(mu_) = 0;     // of the item that was read last
  size_t earlier_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // of the one before it
};

extern template class StreamCall<grpc::ServerWriteReactor<grpc::ByteBuffer>>;
extern template class StreamCall<grpc::ServerBidiReactor<ReadItem, grpc::ByteBuffer>>;

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_STREAM_CALL_H_

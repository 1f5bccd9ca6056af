// StreamCall, ClientAsk and ClientUpload: a client's call whose answer, or request, is a stream.
//
// Invariants:
//  1. End and OnDone use the object, each once, and the later of them deletes it. End may run before Begin or a
//     reaction has returned; OnDone does not, because they are the polling thread's.
//  2. One answer is on its way to gRPC at a time, and Finish waits for it. OnDone comes after Finish only.
//  3. When the client has gone, the relay is ended, and its end calls End. So a call is over when either side is.
//
// Threads: the one that polls the process's queue for Begin and the reactions, a worker for Read, Write and End.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_STREAM_CALL_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_STREAM_CALL_H_

#include <grpcpp/support/byte_buffer.h>

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
#include "understudy/transport/gateway/incoming_call.h"
#include "understudy/transport/gateway/service_host.h"
#include "understudy/transport/gateway/stream_relay.h"

namespace understudy::internal {

// The members that both kinds of call have.
class StreamCall : public CallReactor, public ClientStream {
 public:
  // All must outlive the object, which is made by new and deletes itself.
  StreamCall(const ServiceHost& host, const ExportedService& exported, const ExportedRpc& rpc, IncomingCall& call)
      : host_(host), exported_(exported), rpc_(rpc), call_(call) {}

  // ClientStream.
  void Write(std::string answer, const Channel<Written>& written) override;
  void End(absl::Status status) override;

  // CallReactor.
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 protected:
  virtual ~StreamCall() = default;

  // Returns true if the client may call and the gateway's bounds allow the call; else ends the call.
  bool Admit();
  // Asks the actor. `request` is empty if the request is a stream. Requires that Admit has returned true.
  void Ask(const grpc::ByteBuffer& request);
  void CancelLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // True if nothing that the client sends matters any more.
  bool IsOverLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return is_cancelled_ || end_.has_value(); }

  const ServiceHost& host_;
  const ExportedService& exported_;
  const ExportedRpc& rpc_;
  IncomingCall& call_;
  absl::Mutex mu_;
  size_t counted_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // what counts in the budget, if the call is admitted

 private:
  // `client` lacks the actor and the bytes.
  void StartRelay(ClientRequest client, const grpc::ByteBuffer& request);
  void Release();

  // Written by Admit and Ask before there is an outcome, read after it.
  bool is_admitted_ = false;
  std::unique_ptr<CallTrace> trace_;  // null if the call belongs to no trace
  Pid asked_of_;
  std::atomic<int> users_{2};

  bool is_cancelled_ ABSL_GUARDED_BY(mu_) = false;
  Pid relay_ ABSL_GUARDED_BY(mu_);                         // null until it is known
  absl::optional<absl::Status> end_ ABSL_GUARDED_BY(mu_);  // from End on
  bool is_writing_ ABSL_GUARDED_BY(mu_) = false;
  grpc::ByteBuffer answer_ ABSL_GUARDED_BY(mu_);  // gRPC's while is_writing_
  Channel<Written> written_ ABSL_GUARDED_BY(mu_);
};

// A call of an rpc that takes one request.
class ClientAsk final : public StreamCall {
 public:
  using StreamCall::StreamCall;

  // Call once, first.
  void Begin();

  // CallReactor.
  void OnReadDone(bool ok) override;

 private:
  ReadItem request_;
};

// A call of an rpc that takes a stream.
//
// A read that gives no item has one of three causes: the items have ended, the client has disconnected, or gRPC has
// ended the call because an item is too large or cannot be decompressed. The actor must not take the last two for the
// end of the items; ReadItem::has_failed is true for them. OnCancel may be called later. One case is not detected: a
// client that half-closes the call in the middle of an item and then disconnects looks like one whose items have ended.
// No client of gRPC's does that.
//
// An item counts in the budget's bytes until the item after it was written to the actor, because the stream's credit
// holds it until then.
class ClientUpload final : public StreamCall {
 public:
  using StreamCall::StreamCall;

  // Call once, first.
  void Begin();

  // ClientStream.
  void Read(const Channel<Received>& received) override;

  // CallReactor.
  void OnReadDone(bool ok) override;

 private:
  // The last read gave no item: the client has half-closed the call or disconnected.
  void OnEnd();
  absl::StatusOr<std::string> TakeItem();

  ReadItem item_;  // gRPC's during a read, then OnReadDone's
  Channel<Received> received_ ABSL_GUARDED_BY(mu_);
  size_t item_bytes_ ABSL_GUARDED_BY(mu_) = 0;     // of the item that was read last
  size_t earlier_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // of the one before it
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_STREAM_CALL_H_

// GrpcCall: one gRPC call as a FrameStream; the base of the dialing and the accepting side.
//
// Invariants:
//  1. gRPC's operations begin under mu_. Each holds a reference to the call until it is
//     done, so the call outlives its operations. While the call is open a read is under
//     way, or begins before the queue is polled again; after the last read Finish is under
//     way.
//  2. Events are called by the thread that polls the process's queue, without mu_, and
//     therefore one at a time. events_ is null after OnClosed.
//  3. OnClosed does not depend on gRPC: ending the call puts an alarm into the queue, whose
//     completion calls OnClosed unless the completion of Finish did so before.
//  4. gRPC's objects are destroyed by the thread that polls, when the last operation is
//     done.
#ifndef UNDERSTUDY_TRANSPORT_GRPC_GRPC_CALL_H_
#define UNDERSTUDY_TRANSPORT_GRPC_GRPC_CALL_H_

#include <grpcpp/alarm.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/transport/grpc/grpc_queue.h"
#include "understudy/transport/session/frame_stream.h"

namespace understudy::internal {

inline constexpr char kCarryMethod[] = "/understudy.proto.NodeLink/Carry";

// The bound on the bytes from peers that gRPC buffers in this process. It is needed because
// gRPC reads a whole message before it checks the length. Beyond limits::kReceivedBytesMax
// gRPC cuts streams, whose sessions go on.
const grpc::ResourceQuota& ReceiveQuota();

// Calls `set` for each argument that all channels and servers have.
void SetCommonArguments(const std::function<void(const std::string& name, int value)>& set);

absl::Status FromGrpc(const grpc::Status& status);

// Derived classes implement the two sides. Must be made by make_shared. Any thread.
class GrpcCall : public std::enable_shared_from_this<GrpcCall> {
 public:
  GrpcCall() = default;
  virtual ~GrpcCall() = default;
  GrpcCall(const GrpcCall&) = delete;
  GrpcCall& operator=(const GrpcCall&) = delete;

  // Returns the stream that Dial returns or `accept` gets. Destroying it closes the call.
  std::unique_ptr<FrameStream> NewHandle();

  void Write(std::string frame);
  // Cancels the call; OnClosed follows with the `why` of the first call of End.
  void End(absl::Status why);

 protected:
  // A gRPC operation under way, which keeps its call alive.
  class Operation final : public GrpcTag {
   public:
    using Handler = void (GrpcCall::*)(bool ok);
    Operation(GrpcCall* call, Handler handler) : call_(call), handler_(handler) {}
    void Done(bool ok) override;

   private:
    friend class GrpcCall;
    GrpcCall* const call_;
    const Handler handler_;
    std::shared_ptr<GrpcCall> keep_;
  };

  // Begins `operation`, and returns the tag to give to gRPC for it.
  void* Begin(Operation& operation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Sets the receiver of the events. Call before any operation.
  void SetEvents(FrameStream::Events* events) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { events_ = events; }
  // The call is established: begins to read, and writes a frame that was held back.
  void OpenLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // There is no gRPC call: only OnClosed follows.
  void FailLocked(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndLocked(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Begins gRPC's Finish, unless it has begun.
  void FinishLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetAlarmLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The operations of the derived class's gRPC call.
  virtual void BeginRead(grpc::ByteBuffer* into, void* tag) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  virtual void BeginWrite(const grpc::ByteBuffer& frame, void* tag) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  virtual void BeginFinish(void* tag) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  virtual void Cancel() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  // The status with which gRPC ended the call. Call after Finish is done.
  virtual absl::Status FinishStatus() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  // Destroys gRPC's objects.
  virtual void Release() = 0;

  bool was_open() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return open_; }
  bool is_ended() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return why_.has_value(); }
  const absl::Status& why() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return *why_; }

  absl::Mutex mu_;

 private:
  class Handle;

  void BeginWriteLocked(std::string frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The completions of operations, on the thread that polls.
  void ReadDone(bool ok);
  void ReadOn();
  void WriteDone(bool ok);
  void FinishDone(bool ok);
  void AlarmDone(bool ok);
  void OperationDone();
  void TellClosed();

  // Once there are operations, only the thread that polls uses these two.
  FrameStream::Events* events_ = nullptr;
  grpc::ByteBuffer read_;

  Operation reading_{this, &GrpcCall::ReadDone};
  Operation writing_{this, &GrpcCall::WriteDone};
  Operation finishing_{this, &GrpcCall::FinishDone};
  Operation alarming_{this, &GrpcCall::AlarmDone};
  grpc::Alarm alarm_;

  bool open_ ABSL_GUARDED_BY(mu_) = false;
  bool write_under_way_ ABSL_GUARDED_BY(mu_) = false;
  bool finish_begun_ ABSL_GUARDED_BY(mu_) = false;
  bool finish_done_ ABSL_GUARDED_BY(mu_) = false;
  int operations_ ABSL_GUARDED_BY(mu_) = 0;
  absl::optional<absl::Status> why_ ABSL_GUARDED_BY(mu_);  // set when the call has ended
  absl::optional<std::string> held_ ABSL_GUARDED_BY(mu_);  // a frame written before the call was established
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GRPC_GRPC_CALL_H_

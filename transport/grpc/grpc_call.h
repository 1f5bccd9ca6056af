// One gRPC call as a FrameStream: what the dialing and the accepting side share.
//
// Invariants:
//  1. gRPC's operations begin under mu_; each holds a reference to the call
//     until it is done, so the call outlives them all. While it is open a read
//     is under way, or begins before the queue is polled again; when none is any
//     more, Finish is.
//  2. Events are called by the thread that polls the process's queue, without
//     mu_; so one at a time. events_ is null after OnClosed.
//  3. OnClosed does not depend on gRPC: ending the call puts an alarm into the
//     queue, which tells if no completion has told before.
//  4. What belongs to gRPC is destroyed by the thread that polls, when the last
//     operation is done.
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

// What gRPC may hold, in this process, of what peers wrote: it takes in all of a
// message before it looks at its length. Beyond limits::kReceivedBytesMax it cuts
// streams, whose sessions go on.
const grpc::ResourceQuota& ReceiveQuota();

// Gives `set` the arguments of every channel and server.
void SetCommonArguments(const std::function<void(const std::string& name, int value)>& set);

absl::Status FromGrpc(const grpc::Status& status);

// Abstract over the side. Made by make_shared; any thread.
class GrpcCall : public std::enable_shared_from_this<GrpcCall> {
 public:
  GrpcCall() = default;
  virtual ~GrpcCall() = default;
  GrpcCall(const GrpcCall&) = delete;
  GrpcCall& operator=(const GrpcCall&) = delete;

  // The handle that Dial returns or accept gets; destroying it closes.
  std::unique_ptr<FrameStream> NewHandle();

  void Write(std::string frame);
  // Cancels, and sees to it that OnClosed is told. The first reason counts.
  void End(absl::Status why);

 protected:
  // An operation on its way; keeps its call.
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

  // The tag to give to gRPC for an operation that begins now.
  void* Begin(Operation& operation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Before any operation: who hears of it.
  void SetEvents(FrameStream::Events* events) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { events_ = events; }
  // The call stands: reading begins, and what was held back.
  void OpenLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // There is no call: only OnClosed remains to be told.
  void FailLocked(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndLocked(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Asks gRPC for the end. Once.
  void FinishLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetAlarmLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // gRPC's own.
  virtual void BeginRead(grpc::ByteBuffer* into, void* tag) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  virtual void BeginWrite(const grpc::ByteBuffer& frame, void* tag) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  virtual void BeginFinish(void* tag) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  virtual void Cancel() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  // Why the call ended, as far as gRPC knows. After Finish.
  virtual absl::Status FinishStatus() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  // Destroys what belongs to gRPC.
  virtual void Release() = 0;

  bool was_open() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return open_; }
  bool is_ended() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return why_.has_value(); }
  const absl::Status& why() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return *why_; }

  absl::Mutex mu_;

 private:
  class Handle;

  void BeginWriteLocked(std::string frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The ends of operations, on the thread that polls.
  void ReadDone(bool ok);
  void ReadOn();
  void WriteDone(bool ok);
  void FinishDone(bool ok);
  void AlarmDone(bool ok);
  void OperationDone();
  void TellClosed();

  // Of the thread that polls, once there are operations.
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
  absl::optional<absl::Status> why_ ABSL_GUARDED_BY(mu_);  // ended, and why
  absl::optional<std::string> held_ ABSL_GUARDED_BY(mu_);  // written before the call stood
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GRPC_GRPC_CALL_H_

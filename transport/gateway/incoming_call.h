// IncomingCall: one call of a client, whose operations complete on the queue of the process (grpc_queue.h), so that the
// idle worker that reads a call also runs the actor that the call is for. CallReactor: what reacts to its completions.
//
// Invariants:
//  1. The call counts its operations: the requests for its end and for its Finish from the beginning, a read or a write
//     while it is under way. When none is left it calls OnDone and deletes itself, so OnDone comes after Finish only.
//  2. Completions are handled by the thread that polls the queue, one at a time. So OnDone never runs within another
//     reaction, nor before a reaction that has begun an operation has returned.
//
// Threads: Read, Write, LimitEnd, WriteAndFinish and Finish on any thread, one at a time with their like, until Finish
// or WriteAndFinish has been called; Cancel on any thread, until OnDone. The thread that calls one of these two may
// find the call and its reactor deleted when the function returns.
#ifndef UNDERSTUDY_TRANSPORT_GATEWAY_INCOMING_CALL_H_
#define UNDERSTUDY_TRANSPORT_GATEWAY_INCOMING_CALL_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "understudy/transport/grpc/grpc_queue.h"

namespace understudy::internal {

class CallServer;

// The result of a read.
struct ReadItem {
  grpc::ByteBuffer bytes;
  // There is no item because of an error, or because the client has gone, and not because the items have ended.
  bool has_failed = false;
};

}  // namespace understudy::internal

// gRPC tells of a read that has failed as it does of the end of the items. Here it still knows which it is. Not part of
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

// The thread that polls the process's queue calls these functions. They must not block.
class CallReactor {
 public:
  // The read is done. `ok` is false if there is no item (ReadItem::has_failed).
  virtual void OnReadDone(bool ok) = 0;
  // The write is done. `ok` is false if the client will not get it.
  virtual void OnWriteDone(bool ok) = 0;
  // The client has cancelled the call or gone, its deadline has passed, or the server's drain has cancelled it. Called
  // at most once, at any time before OnDone, perhaps after Finish.
  virtual void OnCancel() = 0;
  // The call is over. Called once, as the last function.
  virtual void OnDone() = 0;

 protected:
  ~CallReactor() = default;
};

class IncomingCall final {
 public:
  // Requests the next call of `server`. The object belongs to the queue, and then deletes itself.
  explicit IncomingCall(CallServer& server);
  IncomingCall(const IncomingCall&) = delete;
  IncomingCall& operator=(const IncomingCall&) = delete;

  // The path of the rpc, such as "/auction.Auction/MakeOffer".
  const std::string& path() const { return context_.method(); }
  const grpc::ServerContextBase& context() const { return context_; }

  // Begins to read an item, which must live until OnReadDone. One read is under way at a time.
  void Read(ReadItem* item);
  // Likewise for the request of a call, which is cancelled if the request does not come in time (client_waits.h).
  void ReadRequest(ReadItem* item);
  // Begins to write. One write is under way at a time.
  void Write(const grpc::ByteBuffer& answer);
  // Likewise for an answer that the client is to take at once: the call is cancelled if it does not in time
  // (client_waits.h).
  void WriteReply(const grpc::ByteBuffer& reply);
  // Cancels the call if the client does not take what is left of it in time from now on (client_waits.h). Finish and
  // WriteAndFinish do this too; a call that is to end behind a write that is under way does it before them.
  void LimitEnd();
  // Ends the call, with `status`, or with an answer and OK. Call one of these once, while no write is under way.
  void Finish(const grpc::Status& status);
  void WriteAndFinish(const grpc::ByteBuffer& answer);
  // The read or the write that is under way fails, and the client is told that the call was cancelled. Finish or
  // WriteAndFinish is still to be called, unless it was.
  void Cancel() { context_.TryCancel(); }

 private:
  // The tag of an operation whose completion calls `kHandler`.
  template <void (IncomingCall::*kHandler)(bool ok)>
  class Event final : public GrpcTag {
   public:
    explicit Event(IncomingCall& call) : call_(call) {}
    void Done(bool ok) override { (call_.*kHandler)(ok); }

   private:
    IncomingCall& call_;
  };

  ~IncomingCall() = default;

  void Arrived(bool ok);
  void ReadDone(bool ok);
  void WriteDone(bool ok);
  void FinishDone(bool ok);
  void Over(bool ok);
  void OperationDone();
  void Delete();

  CallServer& server_;
  Event<&IncomingCall::Arrived> arriving_{*this};
  Event<&IncomingCall::ReadDone> reading_{*this};
  Event<&IncomingCall::WriteDone> writing_{*this};
  Event<&IncomingCall::FinishDone> finishing_{*this};
  Event<&IncomingCall::Over> ending_{*this};
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  grpc::internal::CallOpSet<grpc::internal::CallOpRecvMessage<ReadItem>> read_;
  ReadItem* item_ = nullptr;  // of the read that is under way
  // Numbers of waits (client_waits.h); 0 if there is none.
  uint64_t request_wait_ = 0;
  uint64_t reply_wait_ = 0;
  uint64_t end_wait_ = 0;
  CallReactor* reactor_ = nullptr;
  std::atomic<int> operations_{2};
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GATEWAY_INCOMING_CALL_H_

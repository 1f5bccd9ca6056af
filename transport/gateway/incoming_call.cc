#include "understudy/transport/gateway/incoming_call.h"

#include <grpc/grpc.h>
#include <grpcpp/impl/call.h>
#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <utility>

#include "understudy/transport/gateway/call_server.h"
#include "understudy/transport/grpc/grpc_queue.h"

namespace understudy::internal {

IncomingCall::IncomingCall(CallServer& server) : server_(server) {
  context_.AsyncNotifyWhenDone(HandOver(&ending_));
  server_.service_.RequestCall(&context_, &stream_, ProcessQueue(), ProcessQueue(), HandOver(&arriving_));
}

void IncomingCall::Arrived(bool ok) {
  if (!ok) return Delete();  // the server has been shut down
  reactor_ = server_.Accept(*this);
}

void IncomingCall::Read(ReadItem* item) {
  operations_.fetch_add(1, std::memory_order_relaxed);  // not the first one: what ends the call is still to come
  item_ = item;
  read_.set_output_tag(HandOver(&reading_));
  read_.RecvMessage(item);
  grpc::internal::Call call(context_.c_call(), server_.server_.get(), ProcessQueue());
  call.PerformOps(&read_);
}

void IncomingCall::ReadRequest(ReadItem* item) {
  request_wait_ = server_.waits_.Begin(&context_);
  Read(item);
}

void IncomingCall::Write(const grpc::ByteBuffer& answer) {
  operations_.fetch_add(1, std::memory_order_relaxed);  // as in Read
  stream_.Write(answer, HandOver(&writing_));
}

void IncomingCall::WriteReply(const grpc::ByteBuffer& reply) {
  reply_wait_ = server_.waits_.Begin(&context_);
  Write(reply);
}

void IncomingCall::LimitEnd() {
  if (end_wait_ == 0) end_wait_ = server_.waits_.Begin(&context_);
}

void IncomingCall::Finish(const grpc::Status& status) {
  LimitEnd();
  stream_.Finish(status, HandOver(&finishing_));
}

void IncomingCall::WriteAndFinish(const grpc::ByteBuffer& answer) {
  LimitEnd();
  stream_.WriteAndFinish(answer, grpc::WriteOptions(), grpc::Status::OK, HandOver(&finishing_));
}

void IncomingCall::ReadDone(bool ok) {
  if (request_wait_ != 0) server_.waits_.End(std::exchange(request_wait_, 0));
  if (!ok && grpc_call_failed_before_recv_message(context_.c_call()) != 0) item_->has_failed = true;
  reactor_->OnReadDone(ok);
  OperationDone();
}

void IncomingCall::WriteDone(bool ok) {
  if (reply_wait_ != 0) server_.waits_.End(std::exchange(reply_wait_, 0));
  reactor_->OnWriteDone(ok);
  OperationDone();
}

void IncomingCall::FinishDone(bool) {
  server_.waits_.End(end_wait_);
  OperationDone();
}

void IncomingCall::Over(bool) {
  if (context_.IsCancelled()) reactor_->OnCancel();
  OperationDone();
}

void IncomingCall::OperationDone() {
  // acq_rel: what threads did that began operations is visible to this one, which deletes the objects.
  if (operations_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  reactor_->OnDone();
  Delete();
}

void IncomingCall::Delete() {
  CallServer& server = server_;
  delete this;
  server.Release();
}

}  // namespace understudy::internal

#include "understudy/transport/gateway/reflection_service.h"

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "understudy/actors/cut_text.h"
#include "understudy/proto/reflection.pb.h"
#include "understudy/transport/gateway/call_budget.h"
#include "understudy/transport/gateway/call_server.h"
#include "understudy/transport/gateway/gateway_limits.h"
#include "understudy/transport/gateway/incoming_call.h"
#include "understudy/transport/gateway/rpc_status.h"
#include "understudy/transport/gateway/service_host.h"
#include "understudy/transport/grpc/byte_buffers.h"

namespace understudy::internal {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;

constexpr const char* kPaths[] = {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                                  "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};

}  // namespace

// One call. It reads a request, writes the reply, and reads the next request, each within the time that a client has
// for it (client_waits.h), because a client that asks or reads nothing holds one of few places. Its state is guarded by
// the service's lock. It begins its gRPC operations with the lock held; this cannot deadlock, because gRPC never calls
// a reaction from within them.
class ReflectionService::Call final : public CallReactor {
 public:
  Call(ReflectionService& service, IncomingCall& call) : service_(service), call_(call) {
    absl::MutexLock lock(&service_.mu_);
    if (service_.is_draining_) {
      EndLocked(ToGrpc(DrainingError()));
    } else if (service_.calls_.size() >= limits::kReflectionCallsMax) {
      EndLocked({grpc::StatusCode::RESOURCE_EXHAUSTED,
                 absl::StrCat("the gateway has ", limits::kReflectionCallsMax, " calls of reflection under way")});
    } else {
      service_.calls_.insert(this);
      call_.ReadRequest(&request_);
    }
  }

  // The service's lock is held, as the caller's analysis knows it by another name.
  void Drain() {
    service_.mu_.AssertHeld();
    if (!is_writing_) EndLocked(ToGrpc(DrainingError()));
  }
  void Cancel() { call_.Cancel(); }

  void OnReadDone(bool ok) override {
    absl::MutexLock lock(&service_.mu_);
    if (has_ended_) return;
    if (!ok) return EndLocked(grpc::Status::OK);  // the client has no more requests, or has gone
    if (request_.bytes.Length() > limits::kReflectionRequestBytesMax) {
      return EndLocked({grpc::StatusCode::RESOURCE_EXHAUSTED,
                        absl::StrCat("a request of reflection has ", request_.bytes.Length(),
                                     " bytes: expected at most ", limits::kReflectionRequestBytesMax)});
    }
    const absl::StatusOr<grpc::Slice> bytes = BytesOf(request_.bytes);
    proto::ReflectionRequest request;
    if (!bytes.ok() || !request.ParseFromArray(bytes->begin(), static_cast<int>(bytes->size()))) {
      return EndLocked({grpc::StatusCode::INTERNAL, "the request is not a valid ServerReflectionRequest"});
    }
    reply_ = ToBuffer(service_.Answer(request).SerializeAsString());
    is_writing_ = true;
    call_.WriteReply(reply_);
  }
  void OnWriteDone(bool ok) override {
    absl::MutexLock lock(&service_.mu_);
    is_writing_ = false;
    if (!ok) return EndLocked(grpc::Status::CANCELLED);
    if (service_.is_draining_) return EndLocked(ToGrpc(DrainingError()));
    call_.ReadRequest(&request_);
  }
  void OnCancel() override {}  // the read or the write under way fails
  void OnDone() override {
    {
      absl::MutexLock lock(&service_.mu_);
      service_.calls_.erase(this);
    }
    delete this;
  }

 private:
  void EndLocked(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(service_.mu_) {
    if (std::exchange(has_ended_, true)) return;
    call_.Finish(status);
  }

  ReflectionService& service_;
  IncomingCall& call_;
  ReadItem request_;
  grpc::ByteBuffer reply_;
  bool is_writing_ = false;
  bool has_ended_ = false;
};

ReflectionService::ReflectionService(const ServiceHost& host, std::vector<std::string> services)
    : host_(host), services_(std::move(services)) {
  for (const std::string& name : services_) {
    const auto* const service = DescriptorPool::generated_pool()->FindServiceByName(name);
    if (service != nullptr) AddFile(service->file());
  }
}

void ReflectionService::AddTo(CallServer& server) {
  for (const char* const path : kPaths) {
    server.Add(path, [this](IncomingCall& call) {
      host_.on_call(call.context().peer());
      return new Call(*this, call);  // deletes itself
    });
  }
}

void ReflectionService::AddFile(const FileDescriptor* file) {
  if (!files_.emplace(file->name(), file).second) return;
  for (int i = 0; i < file->dependency_count(); ++i) AddFile(file->dependency(i));
  for (int i = 0; i < file->message_type_count(); ++i) AddMessage(*file->message_type(i));
  for (int i = 0; i < file->enum_type_count(); ++i) symbols_[file->enum_type(i)->full_name()] = file;
  for (int i = 0; i < file->extension_count(); ++i) symbols_[file->extension(i)->full_name()] = file;
  for (int i = 0; i < file->service_count(); ++i) {
    const google::protobuf::ServiceDescriptor& service = *file->service(i);
    symbols_[service.full_name()] = file;
    for (int k = 0; k < service.method_count(); ++k) symbols_[service.method(k)->full_name()] = file;
  }
}

void ReflectionService::AddMessage(const google::protobuf::Descriptor& message) {
  const FileDescriptor* const file = message.file();
  symbols_[message.full_name()] = file;
  for (int i = 0; i < message.field_count(); ++i) symbols_[message.field(i)->full_name()] = file;
  for (int i = 0; i < message.enum_type_count(); ++i) symbols_[message.enum_type(i)->full_name()] = file;
  for (int i = 0; i < message.nested_type_count(); ++i) AddMessage(*message.nested_type(i));
}

proto::ReflectionReply ReflectionService::Answer(const proto::ReflectionRequest& request) const {
  proto::ReflectionReply reply;
  reply.set_valid_host(request.host());
  *reply.mutable_original_request() = request;
  const auto fail = [&reply](grpc::StatusCode code, std::string text) {
    reply.mutable_error_response()->set_error_code(code);
    reply.mutable_error_response()->set_error_message(std::move(text));
    return reply;
  };
  const bool by_file = request.message_request_case() == proto::ReflectionRequest::kFileByFilename;
  if (request.message_request_case() == proto::ReflectionRequest::kListServices) {
    reply.mutable_list_services_response();
    for (const std::string& name : services_) reply.mutable_list_services_response()->add_service()->set_name(name);
    return reply;
  }
  if (!by_file && request.message_request_case() != proto::ReflectionRequest::kFileContainingSymbol) {
    return fail(grpc::StatusCode::UNIMPLEMENTED, "a gateway tells services and their files, and no extensions");
  }
  const std::string& name = by_file ? request.file_by_filename() : request.file_containing_symbol();
  const auto& known = by_file ? files_ : symbols_;
  const auto found = known.find(name);
  if (found == known.end()) {
    return fail(grpc::StatusCode::NOT_FOUND, absl::StrCat("'", CutText(name, limits::kStatusMessageBytesMax),
                                                          "' is in no file of an exported service"));
  }
  // The file that was asked for comes first, and then those that it imports.
  std::vector<const FileDescriptor*> told = {found->second};
  for (size_t i = 0; i < told.size(); ++i) {
    const FileDescriptor* const file = told[i];
    google::protobuf::FileDescriptorProto descriptor;
    file->CopyTo(&descriptor);
    reply.mutable_file_descriptor_response()->add_file_descriptor_proto(descriptor.SerializeAsString());
    for (int k = 0; k < file->dependency_count(); ++k) {
      if (std::find(told.begin(), told.end(), file->dependency(k)) == told.end()) told.push_back(file->dependency(k));
    }
  }
  return reply;
}

void ReflectionService::Drain() {
  absl::MutexLock lock(&mu_);
  is_draining_ = true;
  for (Call* const call : calls_) call->Drain();
}

void ReflectionService::CancelCalls(absl::Duration within) {
  absl::MutexLock lock(&mu_);
  if (mu_.AwaitWithTimeout(absl::Condition(this, &ReflectionService::HasNoCalls), within)) return;
  for (Call* const call : calls_) call->Cancel();
}

}  // namespace understudy::internal

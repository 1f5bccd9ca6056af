#include "understudy/transport/gateway/health_service.h"

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/registry.h"
#include "understudy/proto/gateway.pb.h"
#include "understudy/transport/gateway/call_budget.h"
#include "understudy/transport/gateway/call_server.h"
#include "understudy/transport/gateway/gateway_limits.h"
#include "understudy/transport/gateway/incoming_call.h"
#include "understudy/transport/gateway/rpc_status.h"
#include "understudy/transport/gateway/service_host.h"
#include "understudy/transport/grpc/byte_buffers.h"
#include "understudy/transport/sockets/thread.h"

namespace understudy::internal {
namespace {

using Serving = proto::HealthReply::Serving;

constexpr char kCheckPath[] = "/grpc.health.v1.Health/Check";
constexpr char kWatchPath[] = "/grpc.health.v1.Health/Watch";

// Returns the name that the request asks for, or the error with which the call ends. `ok` is false if there is no
// request. Empties the request.
absl::StatusOr<std::string> TakeService(bool ok, ReadItem& request) {
  const size_t size = request.bytes.Length();
  if (size > limits::kHealthRequestBytesMax) {
    request.bytes.Clear();
    return absl::ResourceExhaustedError(
        absl::StrCat("the request has ", size, " bytes: expected at most ", limits::kHealthRequestBytesMax));
  }
  const absl::StatusOr<grpc::Slice> bytes = BytesOf(request.bytes);
  request.bytes.Clear();
  proto::HealthRequest parsed;
  if (!ok || !bytes.ok() || !parsed.ParseFromArray(bytes->begin(), static_cast<int>(bytes->size()))) {
    return absl::InternalError("the request is not a valid HealthCheckRequest");
  }
  return parsed.service();
}

grpc::ByteBuffer HealthReplyOf(Serving status) {
  proto::HealthReply reply;
  reply.set_status(status);
  return ToBuffer(reply.SerializeAsString());
}

}  // namespace

// The state of one call of Check.
class HealthService::CheckCall final : public CallReactor {
 public:
  CheckCall(HealthService& health, IncomingCall& call) : health_(health), call_(call) {
    if (++health_.checks_ <= limits::kHealthChecksMax) {
      call_.ReadRequest(&request_);
    } else {
      call_.Finish(ToGrpc(absl::ResourceExhaustedError(
          absl::StrCat("the gateway has ", limits::kHealthChecksMax, " calls of Check under way"))));
    }
  }

  void OnReadDone(bool ok) override {
    const absl::StatusOr<std::string> service = TakeService(ok, request_);
    if (!service.ok()) return call_.Finish(ToGrpc(service.status()));
    absl::MutexLock lock(&health_.mu_);
    const Serving status = health_.StatusOf(*service);
    if (status == proto::HealthReply::SERVICE_UNKNOWN) {
      call_.Finish(ToGrpc(absl::NotFoundError(absl::StrCat("the gateway does not export '", *service, "'"))));
    } else {
      call_.WriteAndFinish(HealthReplyOf(status));
    }
  }
  void OnWriteDone(bool) override {}
  void OnCancel() override {}
  void OnDone() override {
    --health_.checks_;
    delete this;
  }

 private:
  HealthService& health_;
  IncomingCall& call_;
  ReadItem request_;
};

// One call of Watch. Its state is guarded by the service's lock. It begins its gRPC operations with the lock held; this
// cannot deadlock, because gRPC never calls a reaction from within them.
class HealthService::WatchCall final : public CallReactor {
 public:
  WatchCall(HealthService& health, IncomingCall& call) : health_(health), call_(call) {
    absl::MutexLock lock(&health_.mu_);
    if (health_.refuses_watches_) {
      EndLocked(ToGrpc(DrainingError()));
    } else if (health_.calls_.size() < limits::kHealthWatchesMax) {
      health_.calls_.insert(this);
      call_.ReadRequest(&request_);
    } else {
      EndLocked(ToGrpc(absl::ResourceExhaustedError(
          absl::StrCat("the gateway has ", limits::kHealthWatchesMax, " calls of Watch under way"))));
    }
  }

  void OnReadDone(bool ok) override {
    absl::StatusOr<std::string> service = TakeService(ok, request_);
    absl::MutexLock lock(&health_.mu_);
    if (has_ended_) return;
    if (!service.ok()) return EndLocked(ToGrpc(service.status()));
    service_ = *std::move(service);
    UpdateLocked();
  }

  // Writes the status if the client has been told another; ends the call if the service drains.
  void UpdateLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(health_.mu_) {
    if (is_writing_ || has_ended_) return;
    if (is_cancelled_) return EndLocked(grpc::Status::CANCELLED);
    if (!service_.has_value()) {
      if (health_.is_draining_) EndLocked(ToGrpc(DrainingError()));
      return;
    }
    const Serving status = health_.StatusOf(*service_);
    if (status != told_) {
      told_ = status;
      reply_ = HealthReplyOf(status);
      is_writing_ = true;
      call_.WriteReply(reply_);
    } else if (health_.is_draining_) {
      EndLocked(ToGrpc(DrainingError()));
    }
  }

  // The service's lock is held, as the caller's analysis knows it by another name.
  void Update() {
    health_.mu_.AssertHeld();
    UpdateLocked();
  }

  void Cancel() { call_.Cancel(); }

  void OnWriteDone(bool) override {
    absl::MutexLock lock(&health_.mu_);
    is_writing_ = false;
    UpdateLocked();
  }
  void OnCancel() override {
    absl::MutexLock lock(&health_.mu_);
    is_cancelled_ = true;
    UpdateLocked();
  }
  void OnDone() override {
    {
      absl::MutexLock lock(&health_.mu_);
      health_.calls_.erase(this);
    }
    delete this;
  }

 private:
  void EndLocked(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(health_.mu_) {
    has_ended_ = true;
    call_.Finish(status);
  }

  HealthService& health_;
  IncomingCall& call_;
  ReadItem request_;
  absl::optional<std::string> service_;  // from the request on
  grpc::ByteBuffer reply_;
  Serving told_ = proto::HealthReply::UNKNOWN;  // which StatusOf never returns
  bool is_writing_ = false;
  bool is_cancelled_ = false;
  bool has_ended_ = false;
};

HealthService::HealthService(const ServiceHost& host, std::map<std::string, std::string> actors)
    : host_(host), registry_(host.system->registry()), actors_(std::move(actors)) {
  for (const auto& [name, actor] : actors_) {
    if (name != actor) continue;  // once for each actor
    registry_watches_.push_back(registry_.Watch(actor, [this](absl::string_view, const NameRecord*) { OnChange(); }));
  }
  thread_ = StartThread([this] { Loop(); });
}

HealthService::~HealthService() {
  for (const uint64_t watch : registry_watches_) registry_.Unwatch(watch);
  {
    absl::MutexLock lock(&changed_mu_);
    is_stopping_ = true;
  }
  thread_.join();
}

void HealthService::AddTo(CallServer& server) {
  server.Add(kCheckPath, [this](IncomingCall& call) {
    host_.on_call(call.context().peer());
    return new CheckCall(*this, call);  // deletes itself
  });
  server.Add(kWatchPath, [this](IncomingCall& call) {
    host_.on_call(call.context().peer());
    return new WatchCall(*this, call);  // likewise
  });
}

Serving HealthService::StatusOf(const std::string& service) {
  const auto found = actors_.find(service);
  if (!service.empty() && found == actors_.end()) return proto::HealthReply::SERVICE_UNKNOWN;
  if (is_draining_ || !host_.is_ready.load(std::memory_order_relaxed) || host_.system->is_stopping()) {
    return proto::HealthReply::NOT_SERVING;
  }
  const bool has_actor = service.empty() || registry_.Find(found->second).has_value();
  return has_actor ? proto::HealthReply::SERVING : proto::HealthReply::NOT_SERVING;
}

void HealthService::OnChange() {
  absl::MutexLock lock(&changed_mu_);
  has_changed_ = true;
}

void HealthService::Loop() {
  while (true) {
    {
      const auto has_work = [this]()
                                ABSL_EXCLUSIVE_LOCKS_REQUIRED(changed_mu_) { return has_changed_ || is_stopping_; };
      absl::MutexLock lock(&changed_mu_);
      changed_mu_.Await(absl::Condition(&has_work));
      if (is_stopping_) return;
      has_changed_ = false;
    }
    absl::MutexLock lock(&mu_);
    for (WatchCall* const call : calls_) call->Update();
  }
}

void HealthService::Drain() {
  absl::MutexLock lock(&mu_);
  is_draining_ = true;
  for (WatchCall* const call : calls_) call->Update();
}

void HealthService::CancelCalls(absl::Duration within) {
  absl::MutexLock lock(&mu_);
  (void)mu_.AwaitWithTimeout(absl::Condition(this, &HealthService::HasNoCalls), within);
  refuses_watches_ = true;
  for (WatchCall* const call : calls_) call->Cancel();
}

}  // namespace understudy::internal

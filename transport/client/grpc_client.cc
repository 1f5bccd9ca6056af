#include "understudy/transport/client/grpc_client.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/transport/client/client_limits.h"
#include "understudy/transport/credentials.h"

namespace understudy {
namespace {

absl::Status CheckBound(absl::string_view field, int64_t value, int64_t at_most) {
  if (value >= 1 && value <= at_most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("GrpcClientOptions::", field, " is ", value, ": expected 1 to ", at_most));
}

absl::Status CheckTime(absl::string_view field, absl::Duration value) {
  if (value > absl::ZeroDuration() && value <= absl::Hours(24)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("GrpcClientOptions::", field, " is ", absl::FormatDuration(value),
                                                 ": expected more than 0 and at most 24h"));
}

absl::Status CheckTarget(const GrpcClientOptions& options) {
  const absl::StatusOr<NodeAddress> address = NodeAddress::Parse(options.target);
  if (!address.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("GrpcClientOptions::target: ", address.status().message()));
  }
  if (address->reach == NodeAddress::Reach::kUnixSocket || address->is_wildcard() || address->port == 0) {
    return absl::InvalidArgumentError(absl::StrCat("GrpcClientOptions::target is ", options.target,
                                                   ": expected a TCP address with the port of a server"));
  }
  return CheckAllowed(options.credentials, *address, "dial");
}

// How often a client looks at its connection.
absl::Duration LookPause(const GrpcClientOptions& options) {
  return std::clamp(options.connect_within / limits::kLooksPerConnectWithin, limits::kLookPauseMin,
                    limits::kLookPauseMax);
}

}  // namespace

absl::Status GrpcClientOptions::Check() const {
  absl::Status valid = credentials.Check();
  if (valid.ok()) valid = CheckTarget(*this);
  if (valid.ok()) valid = CheckTime("connect_within", connect_within);
  if (valid.ok()) valid = CheckTime("cast_timeout", cast_timeout);
  // Each call has an ask of the client.
  if (valid.ok()) valid = CheckBound("calls_max", calls_max, static_cast<int64_t>(limits::kAsksPerActorMax) / 2);
  constexpr int64_t kAllBytesMax = int64_t{1} << 40;
  if (valid.ok()) valid = CheckBound("requests_bytes_max", static_cast<int64_t>(requests_bytes_max), kAllBytesMax);
  // gRPC counts the bytes of a message in an int.
  if (valid.ok()) valid = CheckBound("reply_bytes_max", static_cast<int64_t>(reply_bytes_max), INT_MAX);
  if (valid.ok()) valid = CheckBound("replies_bytes_max", static_cast<int64_t>(replies_bytes_max), kAllBytesMax);
  return valid;
}

namespace internal {

GrpcClientBase::GrpcClientBase(GrpcClientOptions options) : options_(std::move(options)) {}

GrpcClientBase::~GrpcClientBase() {
  if (asks_ != nullptr) asks_->Close();
}

void GrpcClientBase::Serve(Clauses clauses) {
  serving_.emplace("serving", std::move(clauses), Every(LookPause(options_), &GrpcClientBase::Look));
}

StartResult GrpcClientBase::Start() {
  if (absl::Status valid = options_.Check(); !valid.ok()) return valid;
  asks_ = std::make_shared<OutsideAsks>(context().core());
  channel_ = std::make_unique<ServiceChannel>(options_, asks_);
  Look();
  return *serving_;
}

void GrpcClientBase::Look() {
  if (!channel_->LacksConnection()) {
    lost_at_.reset();
    return;
  }
  const MonotonicTime now = context().Now();
  if (!lost_at_.has_value()) lost_at_ = now;
  if (now - *lost_at_ < options_.connect_within) return;
  context().StopAs(ExitReason::NoConnection(
      absl::StrCat("no connection to ", options_.target, " within ", absl::FormatDuration(options_.connect_within))));
}

absl::Duration GrpcClientBase::TimeLeft(absl::Duration timeout) {
  return std::min(timeout, OutsideAsks::DeadlineOfCall() - context().Now());
}

Task<RpcReply> GrpcClientBase::CallBytes(const std::string& path, std::string request, absl::Duration timeout) {
  const UnderWay under_way(*this, request.size());
  const absl::Duration left = TimeLeft(timeout);
  const PendingId ask = asks_->Begin(context().Now() + left);
  std::unique_ptr<RpcCall> call;
  if (ask.id != 0) call = channel_->Call(path, std::move(request), left, ask);
  const Pending<RpcReply> pending(ask);
  absl::StatusOr<RpcReply> reply = co_await pending;
  if (reply.ok()) co_return *std::move(reply);
  RpcReply error;
  error.status = std::move(reply).status();
  co_return error;
}

std::unique_ptr<RpcStream> GrpcClientBase::StreamBytes(const std::string& path, absl::optional<std::string> request) {
  return channel_->Stream(path, std::move(request), TimeLeft(absl::InfiniteDuration()));
}

Task<absl::Status> GrpcClientBase::Run(std::vector<RpcFlow*> flows) {
  RpcFlow::End end;
  while (!end.has_value()) {
    FirstFlow first(flows);
    const size_t index = co_await first;
    end = flows[index]->Step();
    if (!flows[index]->awaited().has_value()) flows.erase(flows.begin() + static_cast<std::ptrdiff_t>(index));
  }
  for (RpcFlow* const flow : flows) flow->GiveUp();
  co_return *std::move(end);
}

}  // namespace internal
}  // namespace understudy

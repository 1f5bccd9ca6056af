#include "understudy/transport/gateway/call_parts.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/string_ref.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/service_host.h"

namespace understudy::internal {

absl::StatusOr<grpc::Slice> BytesOf(const grpc::ByteBuffer& request) {
  absl::StatusOr<grpc::Slice> bytes = grpc::Slice();
  if (request.TrySingleSlice(&*bytes).ok() || request.DumpToSingleSlice(&*bytes).ok()) return bytes;
  return absl::InternalError("gRPC could not decompress the request");
}

grpc::ByteBuffer ToBuffer(std::string bytes) {
  // Shorter ones are copied into the slice itself, or into a block that costs no more than the string's.
  constexpr size_t kCopiedBytesMax = 1024;
  if (bytes.size() <= kCopiedBytesMax) {
    const grpc::Slice slice(bytes.data(), bytes.size());
    return grpc::ByteBuffer(&slice, 1);
  }
  auto owned = std::make_unique<std::string>(std::move(bytes));
  std::string* const kept = owned.release();  // deleted by the slice
  const grpc::Slice slice(kept->data(), kept->size(), [](void* text) { delete static_cast<std::string*>(text); }, kept);
  return grpc::ByteBuffer(&slice, 1);
}

namespace {

absl::Status CheckClient(const ExportedService& exported, const grpc::ServerContextBase& context) {
  if (!exported.clients().has_value()) return absl::OkStatus();
  std::vector<std::string> names;
  for (const grpc::string_ref& name : context.auth_context()->FindPropertyValues(GRPC_X509_SAN_PROPERTY_NAME)) {
    names.emplace_back(name.data(), name.size());
    const std::vector<std::string>& allowed = *exported.clients();
    if (std::find(allowed.begin(), allowed.end(), names.back()) != allowed.end()) return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat("a client with the certificate of '", absl::StrJoin(names, "', '"),
                                                  "' may not call ", exported.service()));
}

}  // namespace

absl::Status CheckCall(const ServiceHost& host, const ExportedService& exported,
                       const grpc::ServerContextBase& context) {
  absl::Status allowed = CheckClient(exported, context);
  if (allowed.ok() && !host.is_ready.load(std::memory_order_relaxed)) {
    return absl::UnavailableError("the actors of this node have not started yet: call again later");
  }
  return allowed;
}

absl::Duration TimeoutOf(const grpc::ServerContextBase& context, absl::Duration if_none) {
  const std::chrono::system_clock::time_point deadline = context.deadline();
  if (deadline == std::chrono::system_clock::time_point::max()) return if_none;
  return absl::FromChrono(deadline) - absl::Now();
}

}  // namespace understudy::internal

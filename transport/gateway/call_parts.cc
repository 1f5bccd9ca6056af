#include "understudy/transport/gateway/call_parts.h"

#include <grpc/grpc_security_constants.h>
#include <grpc/support/time.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/string_ref.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/caller.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/system/unowned_names.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/transport/gateway/call_budget.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/gateway_limits.h"
#include "understudy/transport/gateway/service_host.h"

namespace understudy::internal {

absl::Status NoRequestError() { return absl::InternalError("the call has no request: expected one message"); }

namespace {

std::string ToString(const grpc::string_ref& text) { return std::string(text.data(), text.size()); }

// The subject alternative names of the client's certificate; none without TLS.
std::vector<std::string> NamesOf(const grpc::ServerContextBase& context) {
  std::vector<std::string> names;
  for (const grpc::string_ref& name : context.auth_context()->FindPropertyValues(GRPC_X509_SAN_PROPERTY_NAME)) {
    names.push_back(ToString(name));
  }
  return names;
}

absl::Status CheckClient(const ExportedService& exported, const grpc::ServerContextBase& context) {
  if (!exported.clients().has_value()) return absl::OkStatus();
  const std::vector<std::string> names = NamesOf(context);
  const std::vector<std::string>& allowed = *exported.clients();
  for (const std::string& name : names) {
    if (std::find(allowed.begin(), allowed.end(), name) != allowed.end()) return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat("a client with the certificate of '", absl::StrJoin(names, "', '"),
                                                  "' may not call ", exported.service()));
}

// Counts texts of a client against a bound.
class TextBudget {
 public:
  TextBudget(absl::string_view what, size_t count_max, size_t bytes_max)
      : what_(what), count_max_(count_max), bytes_max_(bytes_max) {}

  void Add(size_t bytes) {
    ++count_;
    bytes_ += bytes;
  }
  bool fits() const { return count_ <= count_max_ && bytes_ <= bytes_max_; }
  absl::Status Check(absl::string_view service) const {
    if (fits()) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat("the client has ", count_, " ", what_, " of ", bytes_,
                                                     " bytes: expected at most ", count_max_, " of ", bytes_max_,
                                                     " bytes for ", service));
  }

 private:
  const absl::string_view what_;
  const size_t count_max_;
  const size_t bytes_max_;
  size_t count_ = 0;
  size_t bytes_ = 0;
};

}  // namespace

absl::Status AdmitCall(const ServiceHost& host, const ExportedService& exported, const grpc::ServerContextBase& context,
                       CallKind kind) {
  if (absl::Status allowed = CheckClient(exported, context); !allowed.ok()) return allowed;
  if (!host.is_ready.load(std::memory_order_relaxed)) {
    return absl::UnavailableError("the actors of this node have not started yet: call again later");
  }
  return host.budget->Admit(kind);
}

absl::Status EndOfAsk(const ServiceHost& host, const ExportedService& exported, Pid asked, absl::Status outcome) {
  if (!IsNoProcess(outcome)) return outcome;
  Registry& registry = host.system->registry();
  const absl::optional<NameRecord> owner = registry.Find(exported.actor());
  if (!owner.has_value()) return NoOwnerError(registry, exported.actor());
  // The actor itself has answered NoProcess, of another one.
  if (owner->pid == asked) return outcome;
  return RestartingError(exported.actor());
}

absl::StatusOr<std::shared_ptr<const Caller>> CallerOf(const ServiceHost& host, const ExportedService& exported,
                                                       const grpc::ServerContextBase& context) {
  if (!exported.caller_metadata().has_value()) return nullptr;
  auto caller = std::make_shared<Caller>();
  caller->names = NamesOf(context);
  TextBudget names("names in its certificate", limits::kCallerNamesMax, limits::kCallerNamesBytesMax);
  for (const std::string& name : caller->names) names.Add(name.size());
  TextBudget values("values of metadata", limits::kCallerValuesMax, limits::kCallerMetadataBytesMax);
  for (const std::string& key : *exported.caller_metadata()) {
    const auto [begin, end] = context.client_metadata().equal_range(key);
    for (auto entry = begin; entry != end; ++entry) {
      values.Add(key.size() + entry->second.size());
      if (values.fits()) caller->metadata.emplace_back(key, ToString(entry->second));
    }
  }
  absl::Status fits = names.Check(exported.service());
  if (fits.ok()) fits = values.Check(exported.service());
  if (!fits.ok()) return fits;
  caller->deadline = host.system->clock().Now() + TimeoutOf(context, absl::InfiniteDuration());
  return caller;
}

absl::Duration TimeoutOf(const grpc::ServerContextBase& context, absl::Duration if_none) {
  // Not deadline(), which overflows for times after the year 2262: clients that mean "never" say such times.
  const gpr_timespec deadline = context.raw_deadline();
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) return if_none;
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  return absl::Seconds(left.tv_sec) + absl::Nanoseconds(left.tv_nsec);
}

}  // namespace understudy::internal

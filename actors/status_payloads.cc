#include "understudy/actors/status_payloads.h"

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {
namespace {

constexpr absl::string_view kOwnUrls = "understudy.dev/";

}  // namespace

StatusPayloads PayloadsToEncode(const absl::Status& status) {
  StatusPayloads payloads;
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& value) { payloads.kept.emplace_back(std::string(url), value); });
  std::sort(payloads.kept.begin(), payloads.kept.end(), [](const auto& a, const auto& b) {
    const bool is_own = absl::StartsWith(a.first, kOwnUrls);
    return is_own != absl::StartsWith(b.first, kOwnUrls) ? is_own : a.first < b.first;
  });
  if (payloads.kept.size() > limits::kStatusPayloadsMax) {
    payloads.left_out = payloads.kept.size() - limits::kStatusPayloadsMax;
    payloads.kept.resize(limits::kStatusPayloadsMax);
  }
  return payloads;
}

}  // namespace understudy::internal

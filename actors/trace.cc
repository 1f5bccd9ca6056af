#include "understudy/actors/trace.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/limits.h"

namespace understudy {
namespace {

// "00-" trace id, "-" span id, "-" flags.
constexpr size_t kTraceAt = 3;
constexpr size_t kSpanAt = 36;
constexpr size_t kFlagsAt = 53;
constexpr size_t kBytes = 55;
constexpr uint64_t kSampledFlag = 1;

// Reads lower-case hexadecimal digits, which is all that the header may have.
bool ReadHex(absl::string_view digits, uint64_t& value) {
  value = 0;
  for (const char c : digits) {
    uint64_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint64_t>(c - 'a') + 10;
    } else {
      return false;
    }
    value = value << 4 | digit;
  }
  return true;
}

}  // namespace

absl::optional<TraceContext> TraceContext::FromTraceParent(absl::string_view text) {
  // A later version may have more, after another '-'.
  if (text.size() < kBytes || text[2] != '-' || text[kSpanAt - 1] != '-' || text[kFlagsAt - 1] != '-') {
    return absl::nullopt;
  }
  uint64_t version = 0;
  uint64_t flags = 0;
  TraceContext context;
  constexpr uint64_t kVersionForbidden = 0xff;
  if (!ReadHex(text.substr(0, 2), version) || version == kVersionForbidden ||
      !ReadHex(text.substr(kTraceAt, 16), context.trace.high) ||
      !ReadHex(text.substr(kTraceAt + 16, 16), context.trace.low) || !ReadHex(text.substr(kSpanAt, 16), context.span) ||
      !ReadHex(text.substr(kFlagsAt, 2), flags)) {
    return absl::nullopt;
  }
  if (version == 0 ? text.size() != kBytes : text.size() > kBytes && text[kBytes] != '-') return absl::nullopt;
  if (!context.trace.is_valid() || context.span == 0) return absl::nullopt;
  context.is_sampled = (flags & kSampledFlag) != 0;
  return context;
}

std::string TraceId::ToString() const { return absl::StrFormat("%016x%016x", high, low); }

std::string TraceContext::ToTraceParent() const {
  return absl::StrFormat("00-%s-%016x-%02x", trace.ToString(), span, is_sampled ? kSampledFlag : 0);
}

absl::optional<TraceContext> CurrentTrace() {
  if (internal::this_trace == nullptr) return absl::nullopt;
  return *internal::this_trace;
}

absl::optional<TraceContext> internal::TraceOfNextMessage() {
  if (this_trace == nullptr || this_trace->hops >= limits::kTraceHopsMax) return absl::nullopt;
  TraceContext next = *this_trace;
  ++next.hops;
  return next;
}

}  // namespace understudy

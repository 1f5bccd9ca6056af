#include "understudy/transport/tracing/otlp_spans.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/cut_text.h"
#include "understudy/actors/message.h"
#include "understudy/actors/printable_text.h"
#include "understudy/proto/otlp/common.pb.h"
#include "understudy/transport/tracing/tracing_limits.h"

namespace understudy::internal {
namespace {

namespace otlp = opentelemetry::proto;

// An id's bytes, the most significant first.
std::string BytesOf(uint64_t id) {
  std::array<char, sizeof(id)> bytes;
  for (size_t i = bytes.size(); i-- > 0; id >>= 8) bytes[i] = static_cast<char>(id & 0xff);
  return std::string(bytes.data(), bytes.size());
}

uint64_t UnixNanos(MonotonicTime time, absl::Time epoch) {
  return static_cast<uint64_t>(absl::ToUnixNanos(epoch + absl::Nanoseconds(time.nanos())));
}

absl::string_view Verb(SpanKind kind) {
  switch (kind) {
    case SpanKind::kSend:
      return "send ";
    case SpanKind::kCall:
      return "call ";
    case SpanKind::kWait:
      return "wait ";
    case SpanKind::kHandle:
      return "handle ";
    case SpanKind::kWork:
    case SpanKind::kServe:
      break;
  }
  return "";
}

otlp::trace::v1::Span::SpanKind KindOf(const Span& span) {
  switch (span.kind) {
    case SpanKind::kSend:
      return otlp::trace::v1::Span::SPAN_KIND_PRODUCER;
    case SpanKind::kCall:
      return otlp::trace::v1::Span::SPAN_KIND_CLIENT;
    case SpanKind::kHandle:
      return span.is_call ? otlp::trace::v1::Span::SPAN_KIND_SERVER : otlp::trace::v1::Span::SPAN_KIND_CONSUMER;
    case SpanKind::kServe:
      return otlp::trace::v1::Span::SPAN_KIND_SERVER;
    case SpanKind::kWait:
    case SpanKind::kWork:
      break;
  }
  return otlp::trace::v1::Span::SPAN_KIND_INTERNAL;
}

// A proto3 string must be UTF-8; names of mailboxes and texts of programs need not be.
std::string Text(absl::string_view text) {
  return PrintableText(CutText(text, limits::kSpanTextBytesMax), Backslashes::kKeep);
}

void Add(google::protobuf::RepeatedPtrField<otlp::common::v1::KeyValue>& attributes, absl::string_view key,
         absl::string_view value) {
  otlp::common::v1::KeyValue& attribute = *attributes.Add();
  attribute.set_key(std::string(key));
  attribute.mutable_value()->set_string_value(Text(value));
}

}  // namespace

otlp::trace::v1::Span ToOtlp(const Span& span, absl::Time epoch) {
  otlp::trace::v1::Span out;
  out.set_trace_id(BytesOf(span.trace.high) + BytesOf(span.trace.low));
  out.set_span_id(BytesOf(span.id));
  if (span.parent != 0) out.set_parent_span_id(BytesOf(span.parent));
  const absl::string_view mailbox = span.mailbox == 0 ? absl::string_view() : MailboxNames::Find(span.mailbox);
  out.set_name(Text(span.name.empty() ? absl::StrCat(Verb(span.kind), mailbox) : std::string(span.name)));
  out.set_kind(KindOf(span));
  out.set_start_time_unix_nano(UnixNanos(span.begin, epoch));
  out.set_end_time_unix_nano(UnixNanos(span.end, epoch));
  out.set_flags(1);
  if (!span.actor.is_null()) Add(*out.mutable_attributes(), "understudy.actor", span.actor.ToString());
  if (!mailbox.empty()) Add(*out.mutable_attributes(), "understudy.mailbox", mailbox);
  if (span.status != absl::StatusCode::kOk) {
    out.mutable_status()->set_code(otlp::trace::v1::Status::STATUS_CODE_ERROR);
    out.mutable_status()->set_message(absl::StatusCodeToString(span.status));
  }
  return out;
}

otlp::resource::v1::Resource ToResource(const std::string& service,
                                        const std::vector<std::pair<std::string, std::string>>& attributes) {
  otlp::resource::v1::Resource resource;
  Add(*resource.mutable_attributes(), "service.name", service);
  for (const auto& [key, value] : attributes) Add(*resource.mutable_attributes(), key, value);
  return resource;
}

}  // namespace understudy::internal

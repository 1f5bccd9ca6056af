// Spans as OTLP has them.
#include "understudy/transport/tracing/otlp_spans.h"

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/trace.h"
#include "understudy/transport/tracing/tracing_limits.h"

namespace understudy {
namespace {

using Otlp = opentelemetry::proto::trace::v1::Span;
using OtlpStatus = opentelemetry::proto::trace::v1::Status;

Span Handled() {
  return {.trace = {.high = 0x0102030405060708, .low = 0x090a0b0c0d0e0f10},
          .id = 0x1112131415161718,
          .parent = 0x2122232425262728,
          .kind = SpanKind::kHandle,
          .begin = MonotonicTime::FromNanos(5),
          .end = MonotonicTime::FromNanos(7),
          .actor = Pid(1, 2, 3),
          .mailbox = internal::MailboxNames::Intern("shop.Orders/Place")};
}

TEST(OtlpSpansTest, IdsTimesAndTextsAreWhereTheyBelong) {
  const Otlp span = internal::ToOtlp(Handled(), absl::FromUnixSeconds(1000));
  EXPECT_EQ(span.trace_id(), std::string("\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\xd\xe\xf\x10"));
  EXPECT_EQ(span.span_id(), std::string("\x11\x12\x13\x14\x15\x16\x17\x18"));
  EXPECT_EQ(span.parent_span_id(), std::string("\x21\x22\x23\x24\x25\x26\x27\x28"));
  EXPECT_EQ(span.name(), "handle shop.Orders/Place");
  EXPECT_EQ(span.start_time_unix_nano(), 1'000'000'000'005U);
  EXPECT_EQ(span.end_time_unix_nano(), 1'000'000'000'007U);
  EXPECT_EQ(span.flags(), 1U);
  EXPECT_FALSE(span.has_status());
  ASSERT_EQ(span.attributes_size(), 2);
  EXPECT_EQ(span.attributes(0).key(), "understudy.actor");
  EXPECT_EQ(span.attributes(0).value().string_value(), Pid(1, 2, 3).ToString());
  EXPECT_EQ(span.attributes(1).value().string_value(), "shop.Orders/Place");
}

TEST(OtlpSpansTest, TheFirstSpanHasNoParent) {
  Span first = Handled();
  first.parent = 0;
  EXPECT_EQ(internal::ToOtlp(first, absl::UnixEpoch()).parent_span_id(), "");
}

TEST(OtlpSpansTest, EachKindHasOneOfOtlp) {
  const auto kind_of = [](SpanKind kind, bool is_call) {
    Span span = Handled();
    span.kind = kind;
    span.is_call = is_call;
    return internal::ToOtlp(span, absl::UnixEpoch()).kind();
  };
  EXPECT_EQ(kind_of(SpanKind::kSend, false), Otlp::SPAN_KIND_PRODUCER);
  EXPECT_EQ(kind_of(SpanKind::kCall, true), Otlp::SPAN_KIND_CLIENT);
  EXPECT_EQ(kind_of(SpanKind::kWait, true), Otlp::SPAN_KIND_INTERNAL);
  EXPECT_EQ(kind_of(SpanKind::kHandle, false), Otlp::SPAN_KIND_CONSUMER);
  EXPECT_EQ(kind_of(SpanKind::kHandle, true), Otlp::SPAN_KIND_SERVER);
  EXPECT_EQ(kind_of(SpanKind::kWork, false), Otlp::SPAN_KIND_INTERNAL);
  EXPECT_EQ(kind_of(SpanKind::kServe, true), Otlp::SPAN_KIND_SERVER);
}

TEST(OtlpSpansTest, AFailureIsAnErrorWithItsCode) {
  Span failed = Handled();
  failed.status = absl::StatusCode::kDataLoss;
  const Otlp span = internal::ToOtlp(failed, absl::UnixEpoch());
  EXPECT_EQ(span.status().code(), OtlpStatus::STATUS_CODE_ERROR);
  EXPECT_EQ(span.status().message(), "DATA_LOSS");
}

TEST(OtlpSpansTest, OddAndLongTextsBecomeShortUtf8) {
  Span odd = Handled();
  odd.kind = SpanKind::kWork;
  odd.name =
      "a\xff"
      "b";
  EXPECT_EQ(internal::ToOtlp(odd, absl::UnixEpoch()).name(), "a\\xffb");
  const std::string long_name(100'000, 'n');
  odd.name = long_name;
  EXPECT_LE(internal::ToOtlp(odd, absl::UnixEpoch()).name().size(), limits::kSpanTextBytesMax);
}

TEST(OtlpSpansTest, TheSourceHasItsServiceAndAttributes) {
  const auto resource = internal::ToResource("orders", {{"service.version", "1.4"}});
  ASSERT_EQ(resource.attributes_size(), 2);
  EXPECT_EQ(resource.attributes(0).key(), "service.name");
  EXPECT_EQ(resource.attributes(0).value().string_value(), "orders");
  EXPECT_EQ(resource.attributes(1).key(), "service.version");
}

}  // namespace
}  // namespace understudy

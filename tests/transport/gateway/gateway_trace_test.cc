// A client's traceparent, and the trace that its call belongs to.
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/message.h"
#include "understudy/actors/testing/kept_spans.h"
#include "understudy/actors/trace.h"
#include "understudy/tests/transport/gateway/desk.pb.h"
#include "understudy/tests/transport/gateway/front.h"

namespace understudy {
namespace {

using ::testing::IsEmpty;

constexpr char kSampled[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr char kUnsampled[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

class GatewayTraceTest : public ::testing::Test {
 protected:
  void TraceWith(double sampled_ratio, int64_t foreign_per_second = 1000) {
    front_.system.SetTracing(
        {.spans = &spans_, .sampled_ratio = sampled_ratio, .foreign_per_second = foreign_per_second});
  }
  // Calls Echo with these values of traceparent.
  void Echo(const std::vector<std::string>& headers) {
    grpc::ClientContext context;
    for (const std::string& header : headers) context.AddMetadata("traceparent", header);
    desk::Text reply;
    EXPECT_TRUE(front_.stub->Echo(&context, TextOf("hello"), &reply).ok());
  }
  // The spans, once the call's is among them: it ends when its client may have the answer already.
  std::vector<Span> Spans() {
    const auto is_served = [](const Span& span) { return span.kind == SpanKind::kServe; };
    while (true) {
      std::vector<Span> spans = spans_.all();
      if (std::any_of(spans.begin(), spans.end(), is_served)) return spans;
    }
  }
  static Span Only(const std::vector<Span>& spans, SpanKind kind) {
    std::vector<Span> found;
    for (const Span& span : spans) {
      if (span.kind == kind) found.push_back(span);
    }
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? Span() : found[0];
  }

  KeptSpans spans_;  // before the system, which uses it
  Front front_;
};

TEST_F(GatewayTraceTest, AClientsTraceIsContinuedInTheActor) {
  TraceWith(0);
  Echo({kSampled});
  const std::vector<Span> spans = Spans();
  const TraceContext client = *TraceContext::FromTraceParent(kSampled);
  for (const Span& span : spans) EXPECT_EQ(span.trace, client.trace);
  const Span served = Only(spans, SpanKind::kServe);
  EXPECT_EQ(served.parent, client.span);
  EXPECT_EQ(internal::MailboxNames::Find(served.mailbox), "desk.Desk/Echo");
  EXPECT_EQ(served.status, absl::StatusCode::kOk);
  const Span call = Only(spans, SpanKind::kCall);
  EXPECT_EQ(call.parent, served.id);
  EXPECT_EQ(Only(spans, SpanKind::kHandle).parent, call.id);
}

TEST_F(GatewayTraceTest, ACallWithoutATraceIsSampledHere) {
  TraceWith(1);
  Echo({});
  EXPECT_EQ(Only(Spans(), SpanKind::kServe).parent, 0U);
}

TEST_F(GatewayTraceTest, AClientThatSaysNoIsNotSampledAndOneBeyondTheRateNeither) {
  TraceWith(/*sampled_ratio=*/1, /*foreign_per_second=*/0);
  Echo({kUnsampled});
  Echo({kSampled});
  EXPECT_THAT(spans_.all(), IsEmpty());
  EXPECT_EQ(front_.system.foreign_traces_refused(), 1);
}

TEST_F(GatewayTraceTest, AMalformedTraceAndSeveralAreAsNone) {
  TraceWith(0);
  Echo({"00-zz"});
  Echo({std::string(4000, '0')});
  Echo({kSampled, kSampled});
  EXPECT_THAT(spans_.all(), IsEmpty());
}

TEST_F(GatewayTraceTest, AStreamBelongsToItsClientsTrace) {
  TraceWith(0);
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kSampled);
  desk::CountRequest request;
  request.set_items(2);
  const auto reader = front_.stub->Count(&context, request);
  desk::Text item;
  while (reader->Read(&item)) {
  }
  EXPECT_TRUE(reader->Finish().ok());
  const std::vector<Span> spans = Spans();
  EXPECT_EQ(Only(spans, SpanKind::kHandle).trace, TraceContext::FromTraceParent(kSampled)->trace);
}

TEST_F(GatewayTraceTest, AnUploadBelongsToItsClientsTrace) {
  TraceWith(0);
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kSampled);
  desk::Text reply;
  const auto writer = front_.stub->Collect(&context, &reply);
  desk::Parcel parcel;
  parcel.set_text("0 ");
  EXPECT_TRUE(writer->Write(parcel));
  EXPECT_TRUE(writer->WritesDone());
  EXPECT_TRUE(writer->Finish().ok());
  const std::vector<Span> spans = Spans();
  const Span served = Only(spans, SpanKind::kServe);
  EXPECT_EQ(internal::MailboxNames::Find(served.mailbox), "desk.Desk/Collect");
  EXPECT_EQ(served.status, absl::StatusCode::kOk);
  EXPECT_EQ(Only(spans, SpanKind::kHandle).trace, TraceContext::FromTraceParent(kSampled)->trace);
}

TEST_F(GatewayTraceTest, ACastBelongsToItsClientsTrace) {
  TraceWith(0);
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kSampled);
  google::protobuf::Empty reply;
  EXPECT_TRUE(front_.stub->Note(&context, TextOf("note"), &reply).ok());
  EXPECT_EQ(Only(Spans(), SpanKind::kSend).parent, Only(Spans(), SpanKind::kServe).id);
}

TEST_F(GatewayTraceTest, WithoutTracesATraceParentIsNothing) { Echo({kSampled}); }

}  // namespace
}  // namespace understudy

// A client's calls carry the trace of the message that they are made for.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/task.h"
#include "understudy/actors/testing/kept_log.h"
#include "understudy/actors/testing/kept_spans.h"
#include "understudy/actors/trace.h"
#include "understudy/actors/trace_scope.h"
#include "understudy/actors/upload.h"
#include "understudy/tests/transport/client/client_fixture.h"
#include "understudy/tests/transport/client/plain_desk.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/desk.pb.h"
#include "understudy/tests/transport/gateway/front.h"
#include "understudy/transport/client/grpc_client.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Reads a stream of the desk, in a trace.
class TracedReader final : public Actor {
 public:
  Mailbox<"read", Call<int, int>> read{this};
  explicit TracedReader(desk::DeskRef desk) : desk_(desk) {}

 private:
  StartResult Start() override { return reading_; }
  Task<int> Read(int items) {
    (void)context().StartTrace("read");
    const Stream<desk::Text> stream = desk_.count().Ask(Items(items));
    int count = 0;
    while (true) {
      auto next = stream.Next(kWithin);
      const absl::StatusOr<absl::optional<desk::Text>> item = co_await next;
      if (!item.ok() || !item->has_value()) co_return count;
      ++count;
    }
  }
  const desk::DeskRef desk_;
  Behavior reading_{"reading", On(read, &TracedReader::Read)};
};

// Sends an upload without items to the desk, in a trace.
class TracedUploader final : public Actor {
 public:
  Mailbox<"upload", Call<int, int>> upload{this};
  explicit TracedUploader(desk::DeskRef desk) : desk_(desk) {}

 private:
  StartResult Start() override { return uploading_; }
  Task<absl::StatusOr<int>> Upload(int items) {
    (void)context().StartTrace("upload");
    auto [parcels, receipt] = desk_.collect().Open(kWithin);
    parcels.Finish(absl::OkStatus());
    const absl::StatusOr<desk::Text> reply = co_await receipt;
    if (!reply.ok()) co_return reply.status();
    co_return items;
  }
  const desk::DeskRef desk_;
  Behavior uploading_{"uploading", On(upload, &TracedUploader::Upload)};
};

class GrpcClientTraceTest : public ::testing::Test {
 protected:
  // The span of the client's handler in which the only call that the server has had was made. Fails unless the call
  // carries it.
  void ExpectCarriesTheSpanOfItsHandler() {
    ASSERT_THAT(server_.counts.its_traces(), SizeIs(1));
    const absl::optional<TraceContext> carried = TraceContext::FromTraceParent(server_.counts.its_traces()[0]);
    ASSERT_TRUE(carried.has_value()) << server_.counts.its_traces()[0];
    EXPECT_TRUE(carried->is_sampled);
    // The span ends with the handler, which is later than the call's end.
    EXPECT_TRUE(Eventually([&] {
      for (const Span& span : spans_.all()) {
        if (span.kind == SpanKind::kHandle && span.id == carried->span) return span.trace == carried->trace;
      }
      return false;
    }));
  }

  PlainDesk server_;
  KeptLog log_;
  KeptSpans spans_;
  ActorSystem system_{{.name = "caller", .log = &log_, .tracing = {.spans = &spans_, .sampled_ratio = 1}}};
  const desk::DeskRef desk_ = system_.Spawn<DeskClient>(GrpcClientOptions{.target = server_.address()});
};

TEST_F(GrpcClientTraceTest, ACallCarriesTheTraceOfItsMessage) {
  const TraceScope trace(system_, "work");
  ASSERT_TRUE(system_.Ask(desk_.echo(), TextOf("hello"), kWithin).ok());
  ExpectCarriesTheSpanOfItsHandler();
  EXPECT_EQ(TraceContext::FromTraceParent(server_.counts.its_traces()[0])->trace, trace.context().trace);
}

TEST_F(GrpcClientTraceTest, ACastCarriesTheTraceOfItsMessage) {
  const TraceScope trace(system_, "work");
  desk_.note().Tell(TextOf(""));
  EXPECT_TRUE(Eventually([&] { return server_.counts.notes == 1; }));
  ExpectCarriesTheSpanOfItsHandler();
}

TEST_F(GrpcClientTraceTest, AStreamCarriesTheTraceOfItsMessage) {
  const Ref<TracedReader> reader = system_.Spawn<TracedReader>(desk_);
  const absl::StatusOr<int> items = system_.Ask(reader[&TracedReader::read], 3, kWithin);
  ASSERT_TRUE(items.ok()) << items.status();
  EXPECT_EQ(*items, 3);
  ExpectCarriesTheSpanOfItsHandler();
}

TEST_F(GrpcClientTraceTest, AnUploadCarriesTheTraceOfItsMessage) {
  const Ref<TracedUploader> uploader = system_.Spawn<TracedUploader>(desk_);
  const absl::StatusOr<int> replied = system_.Ask(uploader[&TracedUploader::upload], 0, kWithin);
  ASSERT_TRUE(replied.ok()) << replied.status();
  ExpectCarriesTheSpanOfItsHandler();
}

TEST_F(GrpcClientTraceTest, ACallOutsideTracesCarriesNothing) {
  ASSERT_TRUE(system_.Ask(desk_.echo(), TextOf("hello"), kWithin).ok());
  EXPECT_THAT(server_.counts.its_traces(), ElementsAre(""));
}

TEST_F(GrpcClientTraceTest, ACallOfATraceThatIsNotSampledCarriesNothing) {
  ActorSystem seldom({.name = "seldom", .log = &log_, .tracing = {.spans = &spans_, .sampled_ratio = 0}});
  const desk::DeskRef desk = seldom.Spawn<DeskClient>(GrpcClientOptions{.target = server_.address()});
  const TraceScope trace(seldom, "work");
  ASSERT_TRUE(seldom.Ask(desk.echo(), TextOf("hello"), kWithin).ok());
  EXPECT_THAT(server_.counts.its_traces(), ElementsAre(""));
}

}  // namespace
}  // namespace understudy

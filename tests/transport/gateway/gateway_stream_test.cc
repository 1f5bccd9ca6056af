// Streams of a plain gRPC client: items, ends, slow readers, cancellation, bounds and the drain.
#include <grpc/grpc.h>
#include <grpcpp/client_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/desk.pb.h"
#include "understudy/tests/transport/gateway/front.h"
#include "understudy/transport/gateway/exported_service.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

// A call of Count under way.
class Counting {
 public:
  Counting(Front& front, const desk::CountRequest& request, absl::Duration timeout = absl::InfiniteDuration()) {
    if (timeout != absl::InfiniteDuration()) {
      context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
    }
    reader_ = front.stub->Count(&context, request);
  }
  ~Counting() {
    if (reader_ == nullptr) return;
    context.TryCancel();
    (void)End();
  }

  // The number at the beginning of the next item; -1 if there is none.
  int Next() {
    desk::Text item;
    return reader_->Read(&item) ? std::stoi(item.text()) : -1;
  }
  // Reads the items that are left. Returns how many there were; expects them to come in order from `from` on.
  int ReadAll(int from = 0) {
    int next = from;
    for (int number = Next(); number >= 0; number = Next()) EXPECT_EQ(number, next++);
    return next - from;
  }
  // Reads the items that are left, and returns the status.
  grpc::Status End() {
    while (Next() >= 0) {
    }
    const grpc::Status status = reader_->Finish();
    reader_ = nullptr;
    return status;
  }

  grpc::ClientContext context;

 private:
  std::unique_ptr<grpc::ClientReader<desk::Text>> reader_;
};

desk::CountRequest Items(int items, int item_bytes = 0) {
  desk::CountRequest request;
  request.set_items(items);
  request.set_item_bytes(item_bytes);
  return request;
}

// Items, and then a handler that waits until the call is cancelled.
desk::CountRequest Staying(int items) {
  desk::CountRequest request = Items(items);
  request.set_stay(true);
  return request;
}

TEST(GatewayStreamTest, TheItemsComeInOrderAndThenTheEnd) {
  Front front;
  for (const int items : {0, 1, 1000}) {
    Counting counting(front, Items(items));
    EXPECT_EQ(counting.ReadAll(), items);
    EXPECT_TRUE(counting.End().ok());
  }
  Counting large(front, Items(2, 3 << 20));
  EXPECT_EQ(large.ReadAll(), 2);
  EXPECT_TRUE(large.End().ok());
  EXPECT_EQ(front.gateway->counters().calls, 4);
}

TEST(GatewayStreamTest, TheErrorWithWhichTheStreamEndsIsTheStatusBehindTheItems) {
  Front front;
  const auto end = [&](const desk::Provocation& provocation, grpc::StatusCode code, const std::string& text) {
    desk::CountRequest request = Items(40);
    *request.mutable_end() = provocation;
    Counting counting(front, request);
    EXPECT_EQ(counting.ReadAll(), 40);
    const grpc::Status status = counting.End();
    EXPECT_EQ(status.error_code(), code);
    EXPECT_THAT(absl::StrCat(status.error_message(), status.error_details()), HasSubstr(text));
  };
  desk::Provocation own, drop, crash;
  own.set_code(9);
  own.set_text("no more");
  end(own, grpc::StatusCode::FAILED_PRECONDITION, "no more");
  drop.set_drop(true);
  end(drop, grpc::StatusCode::INTERNAL, "UNANSWERED");
  crash.set_crash(true);
  end(crash, grpc::StatusCode::ABORTED, "CALLEE_EXITED");
}

TEST(GatewayStreamTest, AStreamThatCannotBeginEndsWithItsStatus) {
  Front front;
  const grpc::Status unparsable = front.CallBytes("/desk.Desk/Count", "\x08");
  EXPECT_EQ(unparsable.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(unparsable.error_message(), HasSubstr("not a valid desk.CountRequest"));
  ASSERT_TRUE(front.system.Ask(front.tree.terminate_child(), TerminateChild{.id = "desk"}, kWithin).ok());
  const grpc::Status nobody = Counting(front, Items(1)).End();
  EXPECT_EQ(nobody.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(nobody.error_details(), HasSubstr("NO_NAME"));
}

TEST(GatewayStreamTest, AClientThatDoesNotReadHoldsUpTheWriter) {
  grpc::ChannelArguments small;  // the client's window, which gRPC would otherwise make larger as it measures
  small.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  small.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 64 << 10);
  Front front({}, grpc::InsecureChannelCredentials(), small);
  desk::CountRequest request = Items(1000, 64 << 10);
  request.set_write_within_ms(500);
  Counting counting(front, request);
  // The writer waited for credit in vain, long before it had written all of the 64 MB.
  ASSERT_TRUE(front.events.unwritten.WaitForNotificationWithTimeout(kWithin));
  const int written = front.events.written;
  EXPECT_GE(written, 1);
  EXPECT_LE(written, 16);  // 256 KiB of credit, one item, the window, and what gRPC has in hand at either end
  EXPECT_EQ(counting.ReadAll(), written);
  EXPECT_EQ(counting.End().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST(GatewayStreamTest, AReaderThatWasSlowGetsEveryItem) {
  Front front;
  Counting slow(front, Items(300, 64 << 10));
  Counting other(front, Items(100));
  EXPECT_EQ(other.ReadAll(), 100);  // a stream that is not read holds up no other
  EXPECT_EQ(front.Echo("neither"), "neither");
  EXPECT_EQ(slow.ReadAll(), 300);
  EXPECT_TRUE(slow.End().ok());
}

TEST(GatewayStreamTest, ACancelReachesTheHandlerWhereItWaits) {
  {
    Front front;
    Counting counting(front, Items(1000, 64 << 10));
    EXPECT_EQ(counting.Next(), 0);
    counting.context.TryCancel();
    EXPECT_EQ(counting.End().error_code(), grpc::StatusCode::CANCELLED);
    EXPECT_TRUE(front.events.cancelled.WaitForNotificationWithTimeout(kWithin));
    EXPECT_TRUE(front.events.unwritten.HasBeenNotified());
  }
  Front front;
  Counting counting(front, Staying(1));
  EXPECT_EQ(counting.Next(), 0);
  ASSERT_TRUE(front.events.waits.WaitForNotificationWithTimeout(kWithin));
  counting.context.TryCancel();
  EXPECT_EQ(counting.End().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(front.events.cancelled.WaitForNotificationWithTimeout(kWithin));
}

TEST(GatewayStreamTest, TheClientsDeadlineCancelsTheStreamAtTheActor) {
  for (const bool is_reading : {true, false}) {
    Front front;
    Counting counting(front, is_reading ? Staying(1) : Items(1000, 64 << 10), absl::Milliseconds(300));
    if (!is_reading) ASSERT_TRUE(front.events.cancelled.WaitForNotificationWithTimeout(kWithin));
    EXPECT_EQ(counting.End().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    // The deadline may have passed before the call came.
    EXPECT_TRUE(Eventually([&] { return front.gateway->counters().under_way == 0; }));
  }
}

TEST(GatewayStreamTest, AStreamHasNoDefaultTimeout) {
  Front front({.default_timeout = absl::Milliseconds(1)});
  Counting counting(front, Staying(1));
  ASSERT_TRUE(front.events.waits.WaitForNotificationWithTimeout(kWithin));
  EXPECT_FALSE(front.events.cancelled.WaitForNotificationWithTimeout(absl::Milliseconds(100)));
}

TEST(GatewayStreamTest, StreamsBeyondTheirBoundAreRefusedAndOtherCallsAreNot) {
  Front front({.streams_max = 1});
  {
    Counting first(front, Staying(1));
    EXPECT_EQ(first.Next(), 0);
    EXPECT_EQ(front.gateway->counters().streams, 1);
    const grpc::Status second = Counting(front, Items(1)).End();
    EXPECT_EQ(second.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(second.error_message(), HasSubstr("1 streams under way"));
    EXPECT_EQ(front.Echo("unary"), "unary");
  }
  EXPECT_TRUE(Eventually([&] { return front.gateway->counters().streams == 0; }));
  EXPECT_TRUE(Counting(front, Items(1)).End().ok());
}

TEST(GatewayStreamTest, AStreamUnderWayEndsBeforeTheDrain) {
  Front front;
  Counting counting(front, Items(200, 64 << 10));
  EXPECT_EQ(counting.Next(), 0);
  bool in_time = false;
  std::thread draining([&] { in_time = front.gateway->Drain(absl::Minutes(10)); });
  while (Counting(front, Items(0)).End().error_code() != grpc::StatusCode::UNAVAILABLE) {
  }
  EXPECT_EQ(front.Echo("unary"), "unary");
  EXPECT_EQ(counting.ReadAll(1), 199);
  const grpc::Status end = counting.End();
  EXPECT_TRUE(end.ok()) << end.error_code() << ": " << end.error_message();
  draining.join();
  EXPECT_TRUE(in_time);
}

TEST(GatewayStreamTest, AStreamThatIsLeftAfterTheDrainsTimeIsCancelledAtTheActor) {
  for (const bool is_reading : {true, false}) {
    Front front;
    Counting counting(front, is_reading ? Staying(1) : Items(1000, 64 << 10));
    EXPECT_EQ(counting.Next(), 0);
    EXPECT_FALSE(front.gateway->Drain(absl::Milliseconds(10)));
    EXPECT_FALSE(counting.End().ok());
    EXPECT_TRUE(front.events.cancelled.WaitForNotificationWithTimeout(kWithin));
  }
}

TEST(GatewayStreamTest, AStreamOutlivesNeitherItsActorNorItsSystem) {
  Front front;
  Counting counting(front, Staying(1));
  EXPECT_EQ(counting.Next(), 0);
  EXPECT_TRUE(front.system.Shutdown(kWithin));
  EXPECT_FALSE(counting.End().ok());
  EXPECT_FALSE(Counting(front, Items(1)).End().ok());
  EXPECT_TRUE(Eventually([&] { return front.gateway->counters().under_way == 0; }));
}

TEST(GatewayStreamTest, StreamsThatAreCancelledAtAnyMomentLeaveNothingBehind) {
  Front front;
  ExpectCancelsLeaveNothing(front, [&front](int client, int i) {
    Counting counting(front, i % 3 == 0 ? Staying(i + 10) : Items(i * 5, i * 100));
    for (int read = 0; read < (i + client) % 7; ++read) (void)counting.Next();
    Spin(i * client);
    counting.context.TryCancel();
    if (i % 2 == 0) (void)counting.End();
  });
}

}  // namespace
}  // namespace understudy

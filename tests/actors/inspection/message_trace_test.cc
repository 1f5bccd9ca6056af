// The messages of a traced actor (actors/message_trace.h), in virtual time.
#include "understudy/actors/message_trace.h"

#include <google/protobuf/wrappers.pb.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/test_system.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Text = google::protobuf::StringValue;

// Calls a function while its size is taken.
struct Measured {
  std::function<void()> when_measured;
};
size_t MessageBytes(const Measured& message) {
  message.when_measured();
  return sizeof(message);
}

// Takes texts and numbers, and leaves `later` shut until it is told to open.
class Desk final : public Actor {
 public:
  Mailbox<"text", Text> text{this};
  Mailbox<"number", int> number{this};
  Mailbox<"ask", Call<int, int>> ask{this};
  Mailbox<"turn", int> turn{this};
  Mailbox<"measured", Measured> measured{this};
  StartResult Start() override { return first_; }

 private:
  Behavior second_{"second", On(number, [](int) {})};
  Behavior first_{"first",
                  On(text, [](Text) {}),
                  On(number, [](int) {}),
                  On(ask, [](int n) { return n; }),
                  On(turn, [this](int) { Become(second_); }),
                  On(measured, [](Measured) {})};
};

// Takes numbers in the process style.
class Clerk final : public Actor {
 public:
  Mailbox<"number", int> number{this};
  StartResult Start() override { return Work(); }

 private:
  Task<> Work() {
    for (;;) {
      auto next = Receive(On(number, [](int) {}));
      co_await next;
    }
  }
};

class MessageTraceTest : public testing::Test {
 protected:
  MessageTraceTest() {
    desk_ = system_.Spawn<Desk>();
    system_.RunUntilIdle();
  }
  std::unique_ptr<MessageTrace> Start(const TraceOptions& options = {}) { return Start(desk_.pid(), options); }
  std::unique_ptr<MessageTrace> Start(Pid actor, const TraceOptions& options = {}) {
    absl::StatusOr<std::unique_ptr<MessageTrace>> trace = MessageTrace::Start(system_, actor, options);
    EXPECT_TRUE(trace.ok()) << trace.status();
    system_.RunUntilIdle();
    return trace.ok() ? *std::move(trace) : nullptr;
  }
  void Tell(int count) {
    for (int i = 0; i < count; ++i) desk_[&Desk::number].Tell(i);
    system_.RunUntilIdle();
  }
  static std::vector<TracedMessage> All(MessageTrace& trace) {
    std::vector<TracedMessage> all;
    while (absl::optional<TracedMessage> message = trace.Next()) all.push_back(*std::move(message));
    return all;
  }
  static std::vector<uint64_t> Numbers(MessageTrace& trace) {
    std::vector<uint64_t> numbers;
    for (const TracedMessage& message : All(trace)) numbers.push_back(message.number);
    return numbers;
  }

  TestSystem system_;
  Ref<Desk> desk_;
};

TEST_F(MessageTraceTest, AMessageIsNotedWithMailboxTypeSizeSenderAndTime) {
  const std::unique_ptr<MessageTrace> trace = Start();
  system_.Advance(absl::Seconds(1));
  Text text;
  text.set_value("hello");
  desk_[&Desk::text].Tell(text);
  EXPECT_TRUE(system_.Ask(desk_[&Desk::ask], 7, absl::Seconds(1)).ok());
  const std::vector<TracedMessage> all = All(*trace);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].mailbox, "text");
  EXPECT_EQ(all[0].type, "google.protobuf.StringValue");
  EXPECT_EQ(all[0].bytes, text.ByteSizeLong());
  EXPECT_TRUE(all[0].from.is_null());
  EXPECT_EQ(all[0].time, system_.WallNow());
  EXPECT_FALSE(all[0].contents.has_value());
  EXPECT_EQ(all[1].mailbox, "ask");
  EXPECT_EQ(all[1].bytes, sizeof(int));
  EXPECT_FALSE(all[1].from.is_null()) << "the actor that waits in the thread's place";
}

TEST_F(MessageTraceTest, ItEndsAfterSoManyMessages) {
  const std::unique_ptr<MessageTrace> trace = Start({.messages_max = 3});
  EXPECT_FALSE(trace->IsOver());
  Tell(5);
  EXPECT_TRUE(trace->IsOver());
  EXPECT_THAT(Numbers(*trace), ElementsAre(1, 2, 3));
  Tell(5);
  EXPECT_THAT(Numbers(*trace), IsEmpty());
}

TEST_F(MessageTraceTest, ItIsNotOverWhileItsLastMessageIsBeingNoted) {
  const std::unique_ptr<MessageTrace> trace = Start({.messages_max = 1});
  std::vector<bool> was_over;
  const auto look = [&] { was_over.push_back(trace->IsOver()); };
  desk_[&Desk::measured].Tell(Measured{look});
  was_over.clear();  // without the look for the sender, who counts the bytes of the mailbox
  system_.RunUntilIdle();
  EXPECT_THAT(was_over, ElementsAre(false));
  EXPECT_TRUE(trace->IsOver());
  EXPECT_THAT(Numbers(*trace), ElementsAre(1));
}

TEST_F(MessageTraceTest, ItEndsWithItsTime) {
  const std::unique_ptr<MessageTrace> trace = Start({.time_max = absl::Seconds(5)});
  Tell(1);
  system_.Advance(absl::Seconds(5));
  EXPECT_TRUE(trace->IsOver());
  Tell(1);
  EXPECT_THAT(Numbers(*trace), ElementsAre(1));
}

TEST_F(MessageTraceTest, OneOfSoManyIsNoted) {
  const std::unique_ptr<MessageTrace> trace = Start({.messages_max = 3, .every = 4});
  Tell(20);
  EXPECT_THAT(Numbers(*trace), ElementsAre(1, 5, 9));
}

TEST_F(MessageTraceTest, ASlowReaderLosesTheOldestAndIsToldHowMany) {
  constexpr int kMore = 10;
  const std::unique_ptr<MessageTrace> trace = Start({.messages_max = limits::kTracedMessagesMax});
  for (size_t i = 0; i < limits::kTracedMessagesKeptMax + kMore; ++i) Tell(1);
  const std::vector<TracedMessage> all = All(*trace);
  ASSERT_THAT(all, SizeIs(limits::kTracedMessagesKeptMax));
  EXPECT_EQ(all[0].lost, kMore);
  EXPECT_EQ(all[0].number, uint64_t{kMore} + 1);
  EXPECT_EQ(all[1].lost, 0);
}

TEST_F(MessageTraceTest, ContentsAreKeptOnlyIfAskedForAndUpToABound) {
  const std::unique_ptr<MessageTrace> trace = Start({.contents = TraceContents::kYes});
  Text text;
  text.set_value("hello");
  desk_[&Desk::text].Tell(text);
  text.set_value(std::string(limits::kTracedContentsBytesMax, 'x'));
  desk_[&Desk::text].Tell(text);
  Tell(1);
  const std::vector<TracedMessage> all = All(*trace);
  ASSERT_THAT(all, SizeIs(3));
  ASSERT_TRUE(all[0].contents.has_value());
  EXPECT_TRUE(text.ParseFromString(*all[0].contents));
  EXPECT_EQ(text.value(), "hello");
  EXPECT_FALSE(all[1].contents.has_value()) << "it is too large";
  EXPECT_FALSE(all[2].contents.has_value()) << "it is not a wire message";
}

TEST_F(MessageTraceTest, TheBytesOfAllNotesAreBounded) {
  const std::unique_ptr<MessageTrace> trace =
      Start({.messages_max = limits::kTracedMessagesMax, .contents = TraceContents::kYes});
  Text text;
  text.set_value(std::string(limits::kTracedContentsBytesMax - 100, 'x'));
  for (int i = 0; i < 100; ++i) {
    desk_[&Desk::text].Tell(text);
    system_.RunUntilIdle();
  }
  size_t bytes = 0;
  for (const TracedMessage& message : All(*trace)) bytes += message.contents->size();
  EXPECT_LE(bytes, limits::kTracedBytesKeptMax);
  EXPECT_GT(bytes, limits::kTracedBytesKeptMax / 2);
}

TEST_F(MessageTraceTest, ItGoesOnAfterAChangeOfBehavior) {
  const std::unique_ptr<MessageTrace> trace = Start();
  desk_[&Desk::turn].Tell(0);
  Tell(2);
  EXPECT_THAT(All(*trace), SizeIs(3));
}

TEST_F(MessageTraceTest, AnActorInTheProcessStyleIsTraced) {
  const Ref<Clerk> clerk = system_.Spawn<Clerk>();
  system_.RunUntilIdle();
  const std::unique_ptr<MessageTrace> trace = Start(clerk.pid());
  clerk[&Clerk::number].Tell(1);
  clerk[&Clerk::number].Tell(2);
  system_.RunUntilIdle();
  EXPECT_THAT(Numbers(*trace), ElementsAre(1, 2));
}

TEST_F(MessageTraceTest, AnActorIsTracedOnceAndAgainAfterItsTraceHasEnded) {
  std::unique_ptr<MessageTrace> trace = Start();
  const absl::Status second = MessageTrace::Start(system_, desk_.pid()).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kAlreadyExists);
  trace = nullptr;
  system_.RunUntilIdle();
  Tell(1);
  trace = Start();
  Tell(1);
  EXPECT_THAT(Numbers(*trace), ElementsAre(1));
}

TEST_F(MessageTraceTest, ItIsOverWhenTheActorHasEndedAndThereIsNoneOfAnEndedActor) {
  const std::unique_ptr<MessageTrace> trace = Start();
  system_.Kill(desk_.pid());
  system_.RunUntilIdle();
  EXPECT_TRUE(trace->IsOver());
  EXPECT_EQ(MessageTrace::Start(system_, desk_.pid()).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(MessageTraceTest, BoundsOutOfRangeAreRefused) {
  const auto error = [&](const TraceOptions& options) {
    return std::string(MessageTrace::Start(system_, desk_.pid(), options).status().message());
  };
  EXPECT_THAT(error({.messages_max = 0}), HasSubstr("cannot trace 0 messages: expected 1 to 10000"));
  EXPECT_THAT(error({.messages_max = limits::kTracedMessagesMax + 1}), HasSubstr("cannot trace 10001 messages"));
  EXPECT_THAT(error({.time_max = absl::ZeroDuration()}), HasSubstr("expected more than 0 and at most 10m"));
  EXPECT_THAT(error({.time_max = absl::InfiniteDuration()}), HasSubstr("cannot trace for inf"));
  EXPECT_THAT(error({.every = 0}), HasSubstr("cannot note one of 0 messages"));
}

TEST_F(MessageTraceTest, TracesOfASystemAreBounded) {
  std::vector<std::unique_ptr<MessageTrace>> traces;
  for (size_t i = 0; i < limits::kMessageTracesMax; ++i) traces.push_back(Start(system_.Spawn<Desk>().pid()));
  EXPECT_EQ(MessageTrace::Start(system_, desk_.pid()).status().code(), absl::StatusCode::kResourceExhausted);
  traces.pop_back();
  EXPECT_TRUE(MessageTrace::Start(system_, desk_.pid()).ok());
}

}  // namespace
}  // namespace understudy

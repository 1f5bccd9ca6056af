// Uploads between two actors: order, credit, deadlines, both directions at once (semantics 10.8 and 10.9).
#include "understudy/actors/upload.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pending_group.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/tests/actors/script.h"
#include "understudy/tests/actors/streams/sink.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using Item = absl::StatusOr<absl::optional<std::string>>;

std::string Text(const Item& item) {
  if (!item.ok()) return std::string(absl::StatusCodeToString(item.status().code()));
  return item->has_value() ? **item : "end";
}

class UploadTest : public ActorTest {
 protected:
  // Takes all items, with a pause after each, and answers with their number.
  Sink::Body Counts(absl::Duration pause = absl::ZeroDuration()) {
    return [this, pause](Sink& self, Sink::Items items) -> Task<absl::StatusOr<int>> {
      int count = 0;
      for (;;) {
        Item item = co_await items.Next(absl::Seconds(10));
        taken_.push_back(Text(item));
        if (!item.ok()) co_return item.status();
        if (!item->has_value()) co_return count;
        ++count;
        if (pause == absl::ZeroDuration()) continue;
        auto sleep = self.context().Sleep(pause);
        (void)co_await sleep;
      }
    };
  }
  // Writes so many numbers to `sink`, finishes, and keeps the answer.
  void Write(Ref<Sink> sink, int items) {
    RunTask(system().Spawn<Script>(), [this, sink, items](Script&) -> Task<> {
      auto [writer, receipt] = sink[&Sink::write].Open(absl::Hours(1));
      for (int i = 0; i < items; ++i) {
        absl::Status written = co_await writer.Write(absl::StrCat(i), absl::Minutes(10));
        EXPECT_TRUE(written.ok()) << written;
        ++written_;
      }
      writer.Finish(absl::OkStatus());
      answer_ = co_await receipt;
    });
  }

  std::vector<std::string> taken_;
  int written_ = 0;
  absl::StatusOr<int> answer_ = absl::UnknownError("none yet");
};

TEST_F(UploadTest, EveryItemArrivesInOrderAndThenTheEnd) {
  Write(system().Spawn<Sink>(Counts()), 1000);
  system().RunUntilIdle();
  ASSERT_EQ(taken_.size(), 1001U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(taken_[static_cast<size_t>(i)], absl::StrCat(i));
  EXPECT_EQ(taken_.back(), "end");
  EXPECT_EQ(*answer_, 1000);
}

TEST_F(UploadTest, TheFirstWriteWaitsForTheHandler) {
  Ref<Sink> sink = system().Spawn<Sink>(Counts(), Sink::Begins::kClosed);
  Write(sink, 3);
  system().RunUntilIdle();
  EXPECT_EQ(written_, 0) << "the call waits in its closed mailbox";
  sink[&Sink::open].Tell(true);
  system().RunUntilIdle();
  EXPECT_THAT(taken_, ElementsAre("0", "1", "2", "end"));
  EXPECT_EQ(*answer_, 3);
}

TEST_F(UploadTest, MayBeFinishedBeforeItsHandlerRuns) {
  Ref<Sink> sink = system().Spawn<Sink>(Counts(), Sink::Begins::kClosed);
  Write(sink, 0);
  system().RunUntilIdle();
  EXPECT_FALSE(answer_.ok());
  sink[&Sink::open].Tell(true);
  system().RunUntilIdle();
  EXPECT_THAT(taken_, ElementsAre("end"));
  EXPECT_EQ(*answer_, 0);
}

TEST_F(UploadTest, ItsWriterIsAheadByItsCreditOnly) {
  Ref<Sink> sink = system().Spawn<Sink>(Counts(absl::Seconds(1)));
  Write(sink, 100);
  system().RunUntilIdle();
  EXPECT_EQ(written_, static_cast<int>(limits::kStreamItemsMax)) << "one of them is taken";
  system().Advance(absl::Seconds(limits::kStreamItemsMax / 2));
  EXPECT_EQ(written_, static_cast<int>(limits::kStreamItemsMax + limits::kStreamItemsMax / 2));
  system().Advance(absl::Minutes(5));
  EXPECT_EQ(taken_.size(), 101U);
  EXPECT_EQ(*answer_, 100);
}

TEST_F(UploadTest, AWriteExpiresAndItsItemIsStillTheWriters) {
  Ref<Sink> sink = system().Spawn<Sink>(Counts(), Sink::Begins::kClosed);
  RunTask(system().Spawn<Script>(), [&](Script&) -> Task<> {
    auto [writer, receipt] = sink[&Sink::write].Open(absl::Hours(1));
    absl::Status written = co_await writer.Write("late", absl::Seconds(1));
    EXPECT_TRUE(IsExpired(written)) << written;
    absl::optional<std::string> item = writer.TakeUnwritten();
    EXPECT_EQ(item, absl::optional<std::string>("late"));
    sink[&Sink::open].Tell(true);
    written = co_await writer.Write(*std::move(item), absl::Seconds(1));
    EXPECT_TRUE(written.ok()) << written;
    writer.Finish(absl::OkStatus());
    answer_ = co_await receipt;
  });
  system().Advance(absl::Minutes(1));
  EXPECT_THAT(taken_, ElementsAre("late", "end"));
  EXPECT_EQ(*answer_, 1);
}

TEST_F(UploadTest, AnItemWhoseWriteExpiredBeforeTheHandlerRanIsNotSent) {
  Ref<Sink> sink = system().Spawn<Sink>(Counts(), Sink::Begins::kClosed);
  RunTask(system().Spawn<Script>(), [&](Script&) -> Task<> {
    auto [writer, receipt] = sink[&Sink::write].Open(absl::Hours(1));
    absl::Status written = co_await writer.Write("late", absl::Seconds(1));
    EXPECT_TRUE(IsExpired(written)) << written;
    writer.Finish(absl::OkStatus());
    answer_ = co_await receipt;
  });
  system().Advance(absl::Minutes(1));
  sink[&Sink::open].Tell(true);
  system().RunUntilIdle();
  EXPECT_THAT(taken_, ElementsAre("end"));
}

TEST_F(UploadTest, ANextExpiresAndTheUploadGoesOn) {
  Ref<Sink> sink = system().Spawn<Sink>([&](Sink&, Sink::Items items) -> Task<absl::StatusOr<int>> {
    for (int i = 0; i < 5; ++i) taken_.push_back(Text(co_await items.Next(absl::Seconds(1.2))));
    co_return 1;
  });
  RunTask(system().Spawn<Script>(), [&](Script& self) -> Task<> {
    auto [writer, receipt] = sink[&Sink::write].Open(absl::Hours(1));
    auto sleep = self.context().Sleep(absl::Seconds(3));
    (void)co_await sleep;
    (void)writer.Write("x", absl::Seconds(1));
    writer.Finish(absl::OkStatus());
    answer_ = co_await receipt;
  });
  system().Advance(absl::Minutes(1));
  EXPECT_THAT(taken_, ElementsAre("DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED", "x", "end", "end"));
  EXPECT_EQ(*answer_, 1);
}

TEST_F(UploadTest, MayBeKeptAndReadLater) {
  Ref<Sink> sink = system().Spawn<Sink>([&](Sink& self, Sink::Items) -> Task<absl::StatusOr<int>> {
    Sink::Items items = std::move(self.kept.front());
    for (int i = 0; i < 3; ++i) taken_.push_back(Text(co_await items.Next(absl::Seconds(1))));
    self.repliers.front().Reply(7);
    co_return 1;
  });
  RunTask(system().Spawn<Script>(), [&](Script&) -> Task<> {
    auto [writer, receipt] = sink[&Sink::keep].Open(absl::Hours(1));
    for (const char* item : {"a", "b"}) {
      absl::Status written = co_await writer.Write(item, absl::Seconds(1));
      EXPECT_TRUE(written.ok()) << written;
    }
    writer.Finish(absl::OkStatus());
    answer_ = co_await receipt;
  });
  system().RunUntilIdle();
  Do(system().Spawn<Script>(), [&](Script&) { (void)sink[&Sink::write].Open(absl::Hours(1)); });
  system().RunUntilIdle();
  EXPECT_THAT(taken_, ElementsAre("a", "b", "end"));
  EXPECT_EQ(*answer_, 7);
}

class ChatTest : public UploadTest {
 protected:
  Script::LongStep Talks(Ref<Sink> sink, int items) {
    return [this, sink, items](Script&) -> Task<> {
      auto [writer, answers] = sink[&Sink::chat].Open();
      for (int i = 0; i < items; ++i) {
        absl::Status written = co_await writer.Write(absl::StrCat(i), absl::Minutes(1));
        EXPECT_TRUE(written.ok()) << written;
        taken_.push_back(Text(co_await answers.Next(absl::Minutes(1))));
      }
      writer.Finish(absl::OkStatus());
      taken_.push_back(Text(co_await answers.Next(absl::Minutes(1))));
    };
  }
};

TEST_F(ChatTest, AnswersComeInItemsToo) {
  RunTask(system().Spawn<Script>(), Talks(system().Spawn<Sink>(nullptr), 100));
  system().RunUntilIdle();
  ASSERT_EQ(taken_.size(), 101U);
  EXPECT_EQ(taken_[99], "re: 99");
  EXPECT_EQ(taken_.back(), "end");
}

TEST_F(ChatTest, BothDirectionsHaveTheirOwnCredit) {
  Ref<Sink> sink = system().Spawn<Sink>(nullptr);
  int written = 0;
  RunTask(system().Spawn<Script>(), [&](Script&) -> Task<> {
    auto [writer, answers] = sink[&Sink::chat].Open();
    for (; written < 1000; ++written) {
      absl::Status status = co_await writer.Write("x", absl::Seconds(1));
      if (!status.ok()) break;
    }
    for (int i = 0; i < written; ++i) taken_.push_back(Text(co_await answers.Next(absl::Seconds(1))));
    writer.Finish(absl::OutOfRangeError("no more"));
    // The Write that expired has kept its item.
    taken_.push_back(Text(co_await answers.Next(absl::Seconds(1))));
  });
  system().Advance(absl::Minutes(1));
  // The asker reads no answers, so the actor that writes them waits and reads no further items; so this writer waits
  // too.
  EXPECT_GT(written, static_cast<int>(limits::kStreamItemsMax));
  EXPECT_LE(written, static_cast<int>(3 * limits::kStreamItemsMax));
  ASSERT_EQ(taken_.size(), static_cast<size_t>(written) + 1);
  EXPECT_EQ(taken_.back(), "OUT_OF_RANGE");
}

// An actor that talks to itself.
class TalksToItself final : public Actor {
 public:
  Mailbox<"begin", bool> begin{this};
  Mailbox<"chat", Call<Stream<std::string>, Stream<std::string>>> chat{this};

  explicit TalksToItself(std::vector<std::string>* taken) : taken_(taken) {}

 private:
  StartResult Start() override { return talking_; }
  Task<> Begin(bool) {
    auto [writer, answers] = Ref<TalksToItself>(context().Self())[&TalksToItself::chat].Open();
    for (const char* item : {"a", "b"}) {
      absl::Status written = co_await writer.Write(item, absl::Seconds(1));
      EXPECT_TRUE(written.ok()) << written;
      taken_->push_back(Text(co_await answers.Next(absl::Seconds(1))));
    }
    writer.Finish(absl::OkStatus());
    taken_->push_back(Text(co_await answers.Next(absl::Seconds(1))));
  }
  Task<> Chat(Stream<std::string> items, StreamWriter<std::string> writer) {
    for (;;) {
      Item item = co_await items.Next(absl::Seconds(1));
      if (!item.ok() || !item->has_value()) break;
      (void)writer.Write("own " + **item, absl::Seconds(1));
    }
    writer.Finish(absl::OkStatus());
  }

  std::vector<std::string>* const taken_;
  Behavior talking_{"talking", On(begin, &TalksToItself::Begin).Interleaved(),
                    On(chat, &TalksToItself::Chat).Interleaved()};
};

TEST_F(ChatTest, AnActorMayTalkToItself) {
  Ref<TalksToItself> actor = system().Spawn<TalksToItself>(&taken_);
  actor[&TalksToItself::begin].Tell(true);
  system().RunUntilIdle();
  EXPECT_THAT(taken_, ElementsAre("own a", "own b", "end"));
}

using UploadDeathTest = UploadTest;

TEST_F(UploadDeathTest, ItsCallIsNotPostponedAndItsWriterTravelsInNoMessage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  struct Parcel {
    absl::optional<Sink::Writer> writer;
  };
  const Channel<Parcel> to(system().Spawn<Script>().pid(), 1);
  Ref<Sink> sink = system().Spawn<Sink>([](Sink& self, Sink::Items) -> Task<absl::StatusOr<int>> {
    self.context().Postpone();
    co_return 0;
  });
  EXPECT_DEATH(
      {
        Write(sink, 1);
        system().RunUntilIdle();
      },
      "Postpone in a handler that took its message");
  EXPECT_DEATH(
      {
        Do(system().Spawn<Script>(),
           [&](Script&) { to.Tell(Parcel{std::move(sink[&Sink::keep].Open(absl::Hours(1)).items)}); });
        system().RunUntilIdle();
      },
      "a StreamWriter is moved into a message");
}

}  // namespace
}  // namespace understudy

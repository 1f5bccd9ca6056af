// Items of a stream between two actors: order, credit, deadlines (semantics 10.1 to 10.3).
#include "understudy/actors/stream.h"

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
#include "understudy/tests/actors/streams/source.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Item = absl::StatusOr<absl::optional<std::string>>;
using Texts = Stream<std::string>;

std::string Text(const Item& item) {
  if (!item.ok()) return std::string(absl::StatusCodeToString(item.status().code()));
  return item->has_value() ? **item : "end";
}

// Writes `request` numbers and ends.
Task<absl::Status> Count(Source& /*self*/, int request, Source::Writer writer) {
  for (int i = 0; i < request; ++i) {
    absl::Status written = co_await writer.Write(absl::StrCat(i), absl::Seconds(10));
    if (!written.ok()) co_return written;
  }
  writer.Finish(absl::OkStatus());
  co_return absl::OkStatus();
}

class StreamTest : public ActorTest {
 protected:
  // Reads all that `request` gives, and waits `pause` after each item.
  void Read(Ref<Source> source, int request, std::vector<std::string>* items,
            absl::Duration pause = absl::ZeroDuration()) {
    RunTask(system().Spawn<Script>(), [=](Script& self) -> Task<> {
      Texts stream = source[&Source::read].Ask(request);
      for (;;) {
        Item item = co_await stream.Next(absl::Seconds(10));
        items->push_back(Text(item));
        if (!item.ok() || !item->has_value()) co_return;
        if (pause == absl::ZeroDuration()) continue;
        auto sleep = self.context().Sleep(pause);
        (void)co_await sleep;
      }
    });
  }
};

TEST_F(StreamTest, GivesEveryItemInOrderAndThenTheEnd) {
  Ref<Source> source = system().Spawn<Source>(Count);
  std::vector<std::string> items;
  Read(source, 1000, &items);
  system().RunUntilIdle();
  ASSERT_EQ(items.size(), 1001U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(items[static_cast<size_t>(i)], absl::StrCat(i));
  EXPECT_EQ(items.back(), "end");
}

TEST_F(StreamTest, MayBeEmptyAndGivesItsEndAgain) {
  Ref<Source> source = system().Spawn<Source>(Count);
  std::vector<std::string> items;
  RunTask(system().Spawn<Script>(), [&](Script&) -> Task<> {
    Texts stream = source[&Source::read].Ask(0);
    for (int i = 0; i < 3; ++i) items.push_back(Text(co_await stream.Next(absl::Seconds(1))));
  });
  system().RunUntilIdle();
  EXPECT_THAT(items, ElementsAre("end", "end", "end"));
}

TEST_F(StreamTest, ItsWriterIsAheadByItsCreditOnly) {
  size_t written = 0;
  Ref<Source> source =
      system().Spawn<Source>([&](Source&, int, Source::Writer writer) -> Task<absl::Status> {  // NOLINT
        for (int i = 0; i < 100; ++i) {
          absl::Status status = co_await writer.Write("x", absl::Hours(1));
          EXPECT_TRUE(status.ok()) << status;
          ++written;
        }
        writer.Finish(absl::OkStatus());
        co_return absl::OkStatus();
      });
  size_t taken = 0;
  Ref<Script> reader = system().Spawn<Script>();
  std::unique_ptr<Texts> stream;
  const auto take = [&](size_t items) {
    RunTask(reader, [&, items](Script&) -> Task<> {
      for (size_t i = 0; i < items; ++i) {
        Item item = co_await stream->Next(absl::Seconds(1));
        taken += item.ok() && item->has_value() ? 1 : 0;
      }
    });
    system().RunUntilIdle();
  };
  Do(reader, [&](Script&) { stream = std::make_unique<Texts>(source[&Source::read].Ask(0)); });
  system().RunUntilIdle();
  EXPECT_EQ(written, limits::kStreamItemsMax);
  take(limits::kStreamItemsMax / 2 - 1);
  EXPECT_EQ(written, limits::kStreamItemsMax) << "credit is returned in groups";
  take(1);
  EXPECT_EQ(written, limits::kStreamItemsMax + limits::kStreamItemsMax / 2);
  take(100);
  EXPECT_EQ(written, 100U);
  EXPECT_EQ(taken, 100U);
  Do(reader, [&](Script&) { stream = nullptr; });
  system().RunUntilIdle();
}

TEST_F(StreamTest, CountsBytesToo) {
  size_t written = 0;
  Ref<Source> source = system().Spawn<Source>([&](Source&, int, Source::Writer writer) -> Task<absl::Status> {
    for (int i = 0; i < 5; ++i) {
      absl::Status status = co_await writer.Write(std::string(limits::kStreamBytesMax - 100, 'x'), absl::Hours(1));
      EXPECT_TRUE(status.ok()) << status;
      ++written;
    }
    writer.Finish(absl::OkStatus());
    co_return absl::OkStatus();
  });
  std::vector<std::string> items;
  Read(source, 0, &items, absl::Seconds(1));
  system().RunUntilIdle();
  EXPECT_LE(written, 3U) << "one was taken, one fits, and one of any size";
  system().Advance(absl::Minutes(1));
  EXPECT_EQ(written, 5U);
  EXPECT_EQ(items.size(), 6U);
}

TEST_F(StreamTest, AWriteWithoutCreditExpiresAndItsItemIsStillTheWriters) {
  std::vector<std::string> seen;
  Ref<Source> source = system().Spawn<Source>([&](Source&, int, Source::Writer writer) -> Task<absl::Status> {
    for (size_t i = 0; i < limits::kStreamItemsMax; ++i) (void)writer.Write("x", absl::Seconds(1));
    absl::Status status = co_await writer.Write("late", absl::Seconds(1));
    EXPECT_TRUE(IsExpired(status)) << status;
    absl::optional<std::string> item = writer.TakeUnwritten();
    seen.push_back(item.value_or("none"));
    EXPECT_FALSE(writer.TakeUnwritten().has_value());
    status = co_await writer.Write(*std::move(item), absl::Hours(1));
    EXPECT_TRUE(status.ok()) << status;
    writer.Finish(absl::OkStatus());
    co_return absl::OkStatus();
  });
  std::vector<std::string> items;
  Ref<Script> reader = system().Spawn<Script>();
  RunTask(reader, [&](Script& self) -> Task<> {
    Texts stream = source[&Source::read].Ask(0);
    auto sleep = self.context().Sleep(absl::Minutes(1));
    (void)co_await sleep;
    for (;;) {
      Item item = co_await stream.Next(absl::Seconds(1));
      items.push_back(Text(item));
      if (!item.ok() || !item->has_value()) co_return;
    }
  });
  system().Advance(absl::Minutes(2));
  EXPECT_THAT(seen, ElementsAre("late"));
  ASSERT_EQ(items.size(), limits::kStreamItemsMax + 2);
  EXPECT_EQ(items[limits::kStreamItemsMax], "late");
}

TEST_F(StreamTest, ANextExpiresAndTheStreamGoesOn) {
  Ref<Source> source = system().Spawn<Source>([](Source& self, int, Source::Writer writer) -> Task<absl::Status> {
    auto sleep = self.context().Sleep(absl::Seconds(3));
    (void)co_await sleep;
    (void)writer.Write("x", absl::Seconds(1));
    writer.Finish(absl::OkStatus());
    co_return absl::OkStatus();
  });
  std::vector<std::string> items;
  RunTask(system().Spawn<Script>(), [&](Script&) -> Task<> {
    Texts stream = source[&Source::read].Ask(0);
    for (int i = 0; i < 5; ++i) items.push_back(Text(co_await stream.Next(absl::Seconds(1.2))));
  });
  system().Advance(absl::Minutes(1));
  EXPECT_THAT(items, ElementsAre("DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED", "x", "end", "end"));
}

TEST_F(StreamTest, ItemsArriveInOrderWithTheOtherMessagesAndSignalsOfTheirWriter) {
  std::vector<std::string> notes;
  Ref<Script> reader = system().Spawn<Script>(nullptr, nullptr, &notes);
  Ref<Source> source = system().Spawn<Source>([=](Source& self, int, Source::Writer writer) -> Task<absl::Status> {
    (void)writer.Write("1", absl::Seconds(1));
    reader[&Script::note].Tell("tell");
    (void)writer.Write("2", absl::Seconds(1));
    self.context().Stop(ExitReason::Normal());
    co_return absl::OkStatus();
  });
  std::unique_ptr<Texts> stream;
  Do(reader, [&](Script& self) {
    stream = std::make_unique<Texts>(source[&Source::read].Ask(0));
    self.monitors.push_back(self.context().Monitor(source, [&notes](const Down&) { notes.push_back("down"); }));
  });
  system().RunUntilIdle();
  EXPECT_THAT(notes, ElementsAre("tell", "down"));
  RunTask(reader, [&](Script&) -> Task<> {
    for (int i = 0; i < 3; ++i) notes.push_back(Text(co_await stream->Next(absl::ZeroDuration())));
    stream = nullptr;
  });
  system().RunUntilIdle();
  EXPECT_THAT(notes, ElementsAre("tell", "down", "1", "2", "ABORTED"));
}

TEST_F(StreamTest, ManyStreamsOfTwoActorsAreApart) {
  Ref<Source> source = system().Spawn<Source>(Count);
  std::vector<std::vector<std::string>> items(300);
  Ref<Script> reader = system().Spawn<Script>();
  RunTask(reader, [&](Script&) -> Task<> {
    std::vector<Texts> streams;
    for (size_t i = 0; i < items.size(); ++i) streams.push_back(source[&Source::read].Ask(static_cast<int>(i)));
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (size_t i = 0; i < items.size(); ++i) {
        if (items[i].size() > i) continue;
        items[i].push_back(Text(co_await streams[i].Next(absl::Seconds(1))));
        goes_on = true;
      }
    }
  });
  system().RunUntilIdle();
  for (size_t i = 0; i < items.size(); ++i) {
    ASSERT_EQ(items[i].size(), i + 1);
    EXPECT_EQ(items[i].back(), "end");
    if (i > 0) {
      EXPECT_EQ(items[i][i - 1], absl::StrCat(i - 1));
    }
  }
}

TEST_F(StreamTest, MayBeMovedToAnotherCoroutineOfItsActor) {
  std::vector<std::string> items;
  Ref<Source> source = system().Spawn<Source>(Count);
  const auto rest = [&items](Texts stream) -> Task<> {
    for (;;) {
      Item item = co_await stream.Next(absl::Seconds(1));
      items.push_back(Text(item));
      if (!item.ok() || !item->has_value()) co_return;
    }
  };
  RunTask(system().Spawn<Script>(), [&](Script&) -> Task<> {
    Texts stream = source[&Source::read].Ask(40);
    Texts other = source[&Source::read].Ask(3);
    items.push_back(Text(co_await stream.Next(absl::Seconds(1))));
    other = std::move(stream);  // cancels what `other` was
    auto reading = rest(std::move(other));
    co_await reading;
  });
  system().RunUntilIdle();
  EXPECT_EQ(items.size(), 41U);
  EXPECT_EQ(items.back(), "end");
}

TEST_F(StreamTest, IsWrittenByAnActorThatBecomesAnotherBehavior) {
  Ref<Source> source =
      system().Spawn<Source>([](Source& self, int request, Source::Writer writer) -> Task<absl::Status> {
        (void)writer.Write("before", absl::Seconds(1));
        self.Become(self.closed());
        auto counting = Count(self, request, std::move(writer));
        absl::Status status = co_await counting;
        co_return status;
      });
  std::vector<std::string> items;
  Read(source, 50, &items, absl::Milliseconds(1));
  system().Advance(absl::Seconds(1));
  EXPECT_EQ(items.size(), 52U);
  EXPECT_EQ(items.back(), "end");
  items.clear();
  Read(source, 50, &items);
  system().RunUntilIdle();
  EXPECT_THAT(items, ElementsAre("FAILED_PRECONDITION"));
}

TEST_F(StreamTest, MayBeAwaitedInAGroup) {
  Ref<Source> source =
      system().Spawn<Source>([](Source& self, int request, Source::Writer writer) -> Task<absl::Status> {
        auto sleep = self.context().Sleep(absl::Seconds(request));
        (void)co_await sleep;
        (void)writer.Write(absl::StrCat(request), absl::Seconds(1));
        writer.Finish(absl::OkStatus());
        co_return absl::OkStatus();
      });
  std::vector<std::string> items;
  RunTask(system().Spawn<Script>(), [&](Script&) -> Task<> {
    Texts slow = source[&Source::read].Ask(3);
    Texts fast = source[&Source::read].Ask(1);
    const std::vector nexts = {slow.Next(absl::Seconds(10)), fast.Next(absl::Seconds(10))};
    auto any = Any(nexts);
    auto first = co_await any;
    items.push_back(absl::StrCat(first.index, ": ", Text(first.answer)));
    items.push_back(Text(co_await nexts[0]));
  });
  system().Advance(absl::Seconds(10));
  EXPECT_THAT(items, ElementsAre("1: 1", "3"));
}

using StreamDeathTest = StreamTest;

TEST_F(StreamDeathTest, OneNextAndOneWriteWaitAtATime) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Ref<Source> source = system().Spawn<Source>([](Source&, int, Source::Writer writer) -> Task<absl::Status> {
    for (size_t i = 0; i <= limits::kStreamItemsMax + 1; ++i) (void)writer.Write("x", absl::Seconds(1));
    co_return absl::OkStatus();
  });
  EXPECT_DEATH(
      {
        Do(system().Spawn<Script>(), [&](Script&) {
          Texts stream = source[&Source::read].Ask(0);
          (void)stream.Next(absl::Seconds(1));
          (void)stream.Next(absl::Seconds(1));
        });
        system().RunUntilIdle();
      },
      "another Next waits");
  EXPECT_DEATH(
      {
        std::vector<Texts> streams;
        Do(system().Spawn<Script>(), [&](Script&) { streams.push_back(source[&Source::read].Ask(0)); });
        system().RunUntilIdle();
      },
      "another Write waits");
}

TEST_F(StreamDeathTest, NeitherEndTravelsInAMessage) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  struct Parcel {
    absl::optional<Texts> stream;
    absl::optional<Source::Writer> writer;
  };
  const Channel<Parcel> to(system().Spawn<Script>().pid(), 1);
  Ref<Source> source = system().Spawn<Source>([&](Source&, int, Source::Writer writer) -> Task<absl::Status> {
    to.Tell(Parcel{absl::nullopt, std::move(writer)});
    co_return absl::OkStatus();
  });
  EXPECT_DEATH(
      {
        Do(system().Spawn<Script>(), [&](Script&) { to.Tell(Parcel{source[&Source::read].Ask(0), absl::nullopt}); });
        system().RunUntilIdle();
      },
      "a Stream is moved into a message");
}

}  // namespace
}  // namespace understudy

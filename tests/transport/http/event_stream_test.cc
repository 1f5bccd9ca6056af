// The queue of a stream of server-sent events, without a server.
#include "understudy/transport/http/event_stream.h"

#include <cstddef>
#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace understudy::internal {
namespace {

constexpr EventStream::Bounds kWide = {.events_max = 100, .bytes_max = 10'000};
constexpr size_t kAll = 1 << 20;

TEST(EventStreamTest, EventsAreTakenInTheirOrderInPartsOfAnySize) {
  EventStream stream(kWide);
  EXPECT_FALSE(stream.HasWork());
  EXPECT_EQ(stream.Take(kAll), "");
  stream.Send("price", "{\"lot\":7}");
  stream.Send("note", "two\r\nlines");
  EXPECT_TRUE(stream.HasWork());
  std::string all;
  for (std::optional<std::string> part = stream.Take(3); part != ""; part = stream.Take(3)) {
    EXPECT_LE(part->size(), 3U);
    all += *part;
  }
  EXPECT_EQ(all, "event: price\ndata: {\"lot\":7}\n\nevent: note\ndata: two\ndata: lines\n\n");
  EXPECT_FALSE(stream.HasWork());
}

TEST(EventStreamTest, AtTheBoundOfEventsTheOldestAreLostAndTheReaderIsToldHowMany) {
  EventStream stream({.events_max = 2, .bytes_max = 10'000});
  for (const char* data : {"1", "2", "3", "4", "5"}) stream.Send("n", data);
  EXPECT_EQ(stream.Take(kAll), "event: lost\ndata: 3\n\nevent: n\ndata: 4\n\nevent: n\ndata: 5\n\n");
  stream.Send("n", "6");
  EXPECT_EQ(stream.Take(kAll), "event: n\ndata: 6\n\n") << "a loss is told once";
}

TEST(EventStreamTest, TheBytesThatWaitAreBounded) {
  EventStream stream({.events_max = 100, .bytes_max = 1000});
  for (int i = 0; i < 5; ++i) stream.Send("n", std::string(400, static_cast<char>('a' + i)));
  const std::string taken = *stream.Take(kAll);
  EXPECT_EQ(taken.find("event: lost\ndata: 3\n\n"), 0U);
  EXPECT_NE(taken.find("dddd"), std::string::npos);
  stream.Send("n", std::string(1001, 'x'));
  EXPECT_EQ(stream.Take(kAll), "event: lost\ndata: 1\n\n") << "an event that is larger than the bound";
}

TEST(EventStreamTest, AnEventOfWhichAPartWasTakenIsNotLost) {
  EventStream stream({.events_max = 1, .bytes_max = 10'000});
  stream.Send("n", "1");
  std::string all = *stream.Take(5);
  stream.Send("n", "2");
  stream.Send("n", "3");
  all += *stream.Take(kAll);
  EXPECT_EQ(all, "event: n\ndata: 1\n\nevent: lost\ndata: 1\n\nevent: n\ndata: 3\n\n");
}

TEST(EventStreamTest, AfterTheEndTheReaderGetsWhatWaitedAndThenTheEnd) {
  EventStream stream(kWide);
  stream.Send("n", "1");
  stream.End();
  EXPECT_FALSE(stream.is_open());
  stream.Send("n", "2");
  EXPECT_EQ(stream.Take(kAll), "event: n\ndata: 1\n\n");
  EXPECT_EQ(stream.Take(kAll), std::nullopt);
}

TEST(EventStreamTest, AStreamWhoseReaderHasGoneKeepsNothingAndWakesNobody) {
  int wakes = 0;
  EventStream stream(kWide);
  stream.Attach([&wakes] { ++wakes; });
  stream.Send("n", "1");
  EXPECT_EQ(wakes, 1);
  stream.Close();
  stream.Send("n", "2");
  EXPECT_EQ(wakes, 1);
  EXPECT_EQ(stream.Take(kAll), std::nullopt);
}

}  // namespace
}  // namespace understudy::internal

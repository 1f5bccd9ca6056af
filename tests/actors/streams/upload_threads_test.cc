// Uploads, and answers in items, between actors that run on many threads: nothing is lost, and nothing races.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/upload.h"
#include "understudy/tests/actors/script.h"
#include "understudy/tests/actors/streams/sink.h"

namespace understudy {
namespace {

constexpr int kItems = 500;
constexpr absl::Duration kWithin = absl::Minutes(10);

Task<absl::StatusOr<int>> Count(Sink& /*self*/, Sink::Items items) {
  for (int count = 0;; ++count) {
    absl::StatusOr<absl::optional<std::string>> item = co_await items.Next(kWithin);
    if (!item.ok()) co_return item.status();
    if (!item->has_value()) co_return count;
    EXPECT_EQ(**item, absl::StrCat(count));
  }
}

// Uploads numbers, and then has a chat.
Script::LongStep Talks(Ref<Sink> sink, absl::BlockingCounter* done) {
  return [sink, done](Script&) -> Task<> {
    auto [writer, receipt] = sink[&Sink::write].Open(kWithin);
    for (int i = 0; i < kItems; ++i) {
      absl::Status written = co_await writer.Write(absl::StrCat(i), kWithin);
      EXPECT_TRUE(written.ok()) << written;
    }
    writer.Finish(absl::OkStatus());
    absl::StatusOr<int> count = co_await receipt;
    EXPECT_TRUE(count.ok() && *count == kItems) << count.status();
    auto [asks, answers] = sink[&Sink::chat].Open();
    for (int i = 0; i < kItems; ++i) {
      absl::Status written = co_await asks.Write("x", kWithin);
      EXPECT_TRUE(written.ok()) << written;
      if (i % 8 != 7) continue;
      for (int j = 0; j < 8; ++j) {
        absl::StatusOr<absl::optional<std::string>> answer = co_await answers.Next(kWithin);
        EXPECT_TRUE(answer.ok() && answer->has_value()) << answer.status();
      }
    }
    done->DecrementCount();  // the chat is cancelled
  };
}

TEST(UploadThreadsTest, NothingIsLostOnManyThreads) {
  constexpr int kWriters = 16;
  absl::BlockingCounter done(kWriters);
  ActorSystem system;
  std::vector<Ref<Sink>> sinks;
  for (int i = 0; i < 4; ++i) sinks.push_back(system.Spawn<Sink>(Count));
  for (int i = 0; i < kWriters; ++i) {
    RunTask(system.Spawn<Script>(), Talks(sinks[static_cast<size_t>(i) % sinks.size()], &done));
  }
  done.Wait();
  EXPECT_TRUE(system.Shutdown(absl::Minutes(1)));
}

}  // namespace
}  // namespace understudy

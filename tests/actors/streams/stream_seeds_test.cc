// Many streams between actors that pause, cancel, fail and are killed, over seeds: each reader gets the items that were
// written, in order and without a gap, and then one end that is true.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/random.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/tests/actors/script.h"
#include "understudy/tests/actors/streams/source.h"

namespace understudy {
namespace {

struct Record {
  int wanted = 0;
  int written = 0;
  int taken = 0;
  absl::optional<absl::Status> end;
};

absl::Duration Pause(Random& random) { return absl::Milliseconds(random.Below(3) == 0 ? random.Below(50) : 0); }

// Writes numbers, and pauses at times.
Source::Body Writes(std::vector<Record>* records, uint64_t seed) {
  return [records, seed](Source& self, int request, Source::Writer writer) -> Task<absl::Status> {
    Random random(seed + static_cast<uint64_t>(request));
    Record& record = (*records)[static_cast<size_t>(request)];
    while (record.written < record.wanted) {
      absl::Status written = co_await writer.Write(
          std::string(random.Below(30'000), '0') + absl::StrCat(record.written + 1), absl::Seconds(2));
      if (IsExpired(written)) continue;
      if (!written.ok()) co_return written;
      ++record.written;
      EXPECT_LE(record.written - record.taken, static_cast<int>(limits::kStreamItemsMax));
      if (random.Below(4) != 0) continue;
      auto sleep = self.context().Sleep(Pause(random));
      (void)co_await sleep;
    }
    if (random.Below(5) == 0) co_return absl::DataLossError("lost");
    writer.Finish(absl::OkStatus());
    co_return absl::OkStatus();
  };
}

Script::LongStep Reads(std::vector<Record>* records, Ref<Source> source, int number, uint64_t seed) {
  return [=](Script& self) -> Task<> {
    Random random(seed + 1'000 + static_cast<uint64_t>(number));
    Record& record = (*records)[static_cast<size_t>(number)];
    auto first = self.context().Sleep(Pause(random));
    (void)co_await first;
    Stream<std::string> stream = source[&Source::read].Ask(number);
    const uint64_t cancels_at = random.Below(3) == 0 ? random.Below(100) : UINT64_MAX;
    while (!record.end.has_value()) {
      if (static_cast<uint64_t>(record.taken) == cancels_at) co_return;
      absl::StatusOr<absl::optional<std::string>> item = co_await stream.Next(absl::Milliseconds(20));
      if (IsExpired(item.status())) continue;
      if (!item.ok() || !item->has_value()) {
        record.end = item.status();
        co_return;
      }
      int value = 0;
      EXPECT_TRUE(absl::SimpleAtoi(**item, &value));
      EXPECT_EQ(value, ++record.taken);
      if (random.Below(6) != 0) continue;
      auto sleep = self.context().Sleep(Pause(random));
      (void)co_await sleep;
    }
  };
}

TEST(StreamSeedsTest, EveryReaderGetsWhatWasWrittenAndATrueEnd) {
  int64_t late = 0;
  ForEachSeed(100, [&late](uint64_t seed) {
    Random random(seed);
    TestSystem system(seed);
    std::vector<Record> records(20);
    std::vector<Ref<Source>> sources;
    std::vector<Ref<Script>> readers;
    std::vector<bool> reader_dies(records.size());
    std::vector<bool> source_dies(4);
    for (size_t i = 0; i < source_dies.size(); ++i) {
      sources.push_back(system.Spawn<Source>(Writes(&records, seed)));
    }
    for (size_t i = 0; i < records.size(); ++i) {
      records[i].wanted = static_cast<int>(random.Below(150));
      readers.push_back(system.Spawn<Script>());
      RunTask(readers[i], Reads(&records, sources[i % sources.size()], static_cast<int>(i), seed));
    }
    for (int step = 0; step < 10; ++step) {
      system.Advance(absl::Milliseconds(random.Below(100)));
      if (random.Below(4) == 0) {
        const size_t dies = random.Below(readers.size());
        reader_dies[dies] = true;
        system.Kill(readers[dies].pid());
      }
      if (random.Below(10) == 0) {
        const size_t dies = random.Below(sources.size());
        source_dies[dies] = true;
        system.Exit(sources[dies].pid(), ExitReason::Shutdown());
      }
    }
    system.Advance(absl::Minutes(5));
    for (size_t i = 0; i < records.size(); ++i) {
      const Record& record = records[i];
      EXPECT_LE(record.taken, record.written) << i;
      if (!record.end.has_value()) continue;
      EXPECT_EQ(record.taken, record.written) << i << " has ended with " << *record.end;
      if (record.end->ok() || record.end->code() == absl::StatusCode::kDataLoss) {
        EXPECT_EQ(record.written, record.wanted) << i;
      } else {
        EXPECT_TRUE(source_dies[i % sources.size()]) << i << " has ended with " << *record.end;
        EXPECT_TRUE(IsCalleeExited(*record.end) || IsNoProcess(*record.end)) << *record.end;
      }
    }
    late += system.late_replies();
    ExpectNothingLost(system);
  });
  if (!SeedFromEnvironment().has_value()) {
    EXPECT_GT(late, 0) << "no item came after the end of its stream";
  }
}

}  // namespace
}  // namespace understudy

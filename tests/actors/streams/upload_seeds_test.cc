// Many uploads between actors that pause, cancel, drop, fail and are killed, over seeds: each reader gets the items
// that were written, in order and without a gap, and then one end that is true; each writer is told.
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
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/actors/upload.h"
#include "understudy/tests/actors/script.h"
#include "understudy/tests/actors/streams/sink.h"

namespace understudy {
namespace {

struct Record {
  int wanted = 0;
  int written = 0;
  int taken = 0;
  bool drops = false;                 // the reader did so
  absl::optional<absl::Status> end;   // that the reader got
  absl::optional<absl::Status> told;  // to the writer, by a Write
  absl::optional<absl::Status> answer;
};

absl::Duration Pause(Random& random) { return absl::Milliseconds(random.Below(3) == 0 ? random.Below(50) : 0); }

// Reads an upload whose first item is the upload's index in `records`; each further item is the item's own number.
Sink::Body Reads(std::vector<Record>* records, uint64_t seed) {
  return [records, seed](Sink& self, Sink::Items upload) -> Task<absl::StatusOr<int>> {
    absl::StatusOr<absl::optional<std::string>> first = co_await upload.Next(absl::Minutes(1));
    if (!first.ok() || !first->has_value()) co_return absl::NotFoundError("no number");
    int number = 0;
    EXPECT_TRUE(absl::SimpleAtoi(**first, &number));
    Record& record = (*records)[static_cast<size_t>(number)];
    Random random(seed + static_cast<uint64_t>(number));
    const uint64_t drops_at = random.Below(3) == 0 ? random.Below(100) : UINT64_MAX;
    for (;;) {
      if (static_cast<uint64_t>(record.taken) == drops_at) {
        record.drops = true;
        if (random.Below(2) == 0) co_return record.taken;
        {
          const Sink::Items dropped = std::move(upload);
        }
        auto sleep = self.context().Sleep(absl::Milliseconds(random.Below(50)));
        (void)co_await sleep;
        co_return record.taken;
      }
      absl::StatusOr<absl::optional<std::string>> item = co_await upload.Next(absl::Milliseconds(20));
      if (IsExpired(item.status())) continue;
      if (!item.ok() || !item->has_value()) {
        record.end = item.status();
        if (!item.ok()) co_return item.status();
        co_return record.taken;
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

Script::LongStep Writes(std::vector<Record>* records, Ref<Sink> sink, int number, uint64_t seed) {
  return [=](Script& self) -> Task<> {
    Random random(seed + 1'000 + static_cast<uint64_t>(number));
    Record& record = (*records)[static_cast<size_t>(number)];
    auto first = self.context().Sleep(Pause(random));
    (void)co_await first;
    auto [writer, receipt] = sink[&Sink::write].Open(absl::Minutes(3));
    absl::Status written = co_await writer.Write(absl::StrCat(number), absl::Minutes(1));
    while (written.ok() && record.written < record.wanted) {
      written = co_await writer.Write(std::string(random.Below(30'000), '0') + absl::StrCat(record.written + 1),
                                      absl::Seconds(2));
      if (IsExpired(written) && !writer.is_cancelled()) {
        written = absl::OkStatus();
        continue;
      }
      if (!written.ok()) break;
      ++record.written;
      EXPECT_LE(record.written - record.taken, static_cast<int>(limits::kStreamItemsMax) + 1);
      if (random.Below(4) != 0) continue;
      auto sleep = self.context().Sleep(Pause(random));
      (void)co_await sleep;
    }
    if (!written.ok()) record.told = written;
    switch (random.Below(6)) {
      case 0:
        writer.Finish(absl::DataLossError("lost"));
        break;
      case 1:
        receipt.Cancel();
        break;
      case 2: {
        const Sink::Writer destroyed = std::move(writer);
        break;
      }
      default:
        writer.Finish(absl::OkStatus());
    }
    absl::StatusOr<int> answer = co_await receipt;
    record.answer = answer.status();
    if (answer.ok()) {
      EXPECT_EQ(*answer, record.taken);
    }
  };
}

TEST(UploadSeedsTest, EveryReaderGetsWhatWasWrittenAndATrueEnd) {
  int64_t late = 0;
  int dropped = 0;
  int told_of_end = 0;
  ForEachSeed(100, [&](uint64_t seed) {
    Random random(seed);
    TestSystem system(seed);
    std::vector<Record> records(20);
    std::vector<Ref<Sink>> sinks;
    std::vector<Ref<Script>> writers;
    std::vector<bool> writer_dies(records.size());
    std::vector<bool> sink_dies(4);
    for (size_t i = 0; i < sink_dies.size(); ++i) sinks.push_back(system.Spawn<Sink>(Reads(&records, seed)));
    for (size_t i = 0; i < records.size(); ++i) {
      records[i].wanted = static_cast<int>(random.Below(150));
      writers.push_back(system.Spawn<Script>());
      RunTask(writers[i], Writes(&records, sinks[i % sinks.size()], static_cast<int>(i), seed));
    }
    for (int step = 0; step < 10; ++step) {
      system.Advance(absl::Milliseconds(random.Below(100)));
      if (random.Below(4) == 0) {
        const size_t dies = random.Below(writers.size());
        writer_dies[dies] = true;
        system.Kill(writers[dies].pid());
      }
      if (random.Below(10) == 0) {
        const size_t dies = random.Below(sinks.size());
        sink_dies[dies] = true;
        system.Exit(sinks[dies].pid(), ExitReason::Shutdown());
      }
    }
    system.Advance(absl::Minutes(5));
    for (size_t i = 0; i < records.size(); ++i) {
      const Record& record = records[i];
      // A writer that is killed may not have counted the item that it was told it had sent.
      EXPECT_LE(record.taken, record.written + (writer_dies[i] ? 1 : 0)) << i;
      EXPECT_TRUE(record.answer.has_value() || writer_dies[i]) << i << " has no answer";
      dropped += record.drops ? 1 : 0;
      if (record.end.has_value()) {
        EXPECT_TRUE(record.taken == record.written || writer_dies[i]) << i << " has ended with " << *record.end;
        if (record.end->ok() || record.end->code() == absl::StatusCode::kDataLoss) {
          EXPECT_EQ(record.written, record.wanted) << i;
        } else {
          EXPECT_TRUE(understudy::IsCancelled(*record.end)) << *record.end;
          EXPECT_TRUE(!ExitReasonOf(*record.end).has_value() || writer_dies[i]) << *record.end;
        }
      }
      if (!record.told.has_value()) continue;
      if (IsCalleeExited(*record.told) || IsNoProcess(*record.told)) {
        EXPECT_TRUE(sink_dies[i % sinks.size()]) << *record.told;
        ++told_of_end;
      } else {
        EXPECT_TRUE(understudy::IsCancelled(*record.told)) << *record.told;
        EXPECT_TRUE(record.drops || sink_dies[i % sinks.size()]) << i << " was told " << *record.told;
      }
    }
    late += system.late_replies();
    ExpectNothingLost(system);
  });
  if (SeedFromEnvironment().has_value()) return;
  EXPECT_GT(late, 0) << "no item came after the end of its upload";
  EXPECT_GT(dropped, 0);
  EXPECT_GT(told_of_end, 0);
}

}  // namespace
}  // namespace understudy

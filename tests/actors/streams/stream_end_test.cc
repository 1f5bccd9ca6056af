// How a stream ends: by its writer, by its asker, and by the end of either (semantics 10.4, 10.5).
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/tests/actors/script.h"
#include "understudy/tests/actors/streams/source.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using Item = absl::StatusOr<absl::optional<std::string>>;
using Texts = Stream<std::string>;

// Writes one item, and keeps the writer.
Task<absl::Status> Keep(Source& self, int /*request*/, Source::Writer writer) {
  (void)writer.Write("kept", absl::Seconds(1));
  self.kept.push_back(std::move(writer));
  co_return absl::OkStatus();
}

class StreamEndTest : public ActorTest {
 protected:
  // The item and the end, or the two ends, that `script` reads from the stream that `source` keeps, when `cause` has
  // run meanwhile.
  std::vector<Item> Read(Ref<Source> source, absl::FunctionRef<void()> cause) {
    std::vector<Item> items;
    RunTask(system().Spawn<Script>(), [&](Script&) -> Task<> {
      Texts stream = source[&Source::read].Ask(0);
      for (int i = 0; i < 2; ++i) items.push_back(co_await stream.Next(absl::Hours(1)));
    });
    system().RunUntilIdle();
    cause();
    system().RunUntilIdle();
    return items;
  }
  // The results of a Write that waits while `cause` runs, and of one after that.
  struct Told {
    absl::Status waiting;
    absl::Status after;
  };
  Told WritersNews(absl::FunctionRef<void(Ref<Script>, std::unique_ptr<Texts>&)> cause) {
    Told told;
    Ref<Source> source = system().Spawn<Source>([&](Source&, int, Source::Writer writer) -> Task<absl::Status> {
      for (size_t i = 0; i < limits::kStreamItemsMax; ++i) (void)writer.Write("x", absl::Seconds(1));
      told.waiting = co_await writer.Write("waits", absl::Hours(1));
      EXPECT_TRUE(writer.is_cancelled());
      told.after = co_await writer.Write("after", absl::Hours(1));
      EXPECT_EQ(writer.TakeUnwritten(), absl::optional<std::string>("after"));
      writer.Finish(absl::OkStatus());
      co_return absl::OkStatus();
    });
    std::unique_ptr<Texts> stream;
    Ref<Script> reader = system().Spawn<Script>();
    Do(reader, [&](Script&) { stream = std::make_unique<Texts>(source[&Source::read].Ask(0)); });
    system().RunUntilIdle();
    EXPECT_TRUE(told.waiting.ok());
    cause(reader, stream);
    system().RunUntilIdle();
    return told;
  }
};

TEST_F(StreamEndTest, TheEndOfTheWritersActorIsToldBehindItsItems) {
  Ref<Source> source = system().Spawn<Source>(Keep);
  const std::vector<Item> items = Read(source, [&] { system().Kill(source.pid()); });
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(**items[0], "kept");
  EXPECT_TRUE(IsCalleeExited(items[1].status())) << items[1].status();
  EXPECT_EQ(ExitReasonOf(items[1].status()), ExitReason::Killed());
}

TEST_F(StreamEndTest, TheFailureOfTheWriterIsToldToo) {
  Ref<Source> source = system().Spawn<Source>([](Source& self, int, Source::Writer writer) -> Task<absl::Status> {
    (void)writer.Write("x", absl::Seconds(1));
    (void)self.Fail(absl::DataLossError("disk"));
    co_return absl::OkStatus();
  });
  const std::vector<Item> items = Read(source, [] {});
  ASSERT_EQ(items.size(), 2U);
  EXPECT_TRUE(IsCalleeExited(items[1].status())) << items[1].status();
}

TEST_F(StreamEndTest, AWriterThatIsDestroyedEndsItUnansweredOrWithTheHandlersError) {
  Ref<Source> forgets =
      system().Spawn<Source>([](Source&, int, Source::Writer) -> Task<absl::Status> { co_return absl::OkStatus(); });
  std::vector<Item> items = Read(forgets, [] {});
  ASSERT_EQ(items.size(), 2U);
  EXPECT_TRUE(IsUnanswered(items[0].status())) << items[0].status();
  Ref<Source> fails = system().Spawn<Source>([](Source&, int, Source::Writer writer) -> Task<absl::Status> {
    (void)writer.Write("x", absl::Seconds(1));
    co_return absl::DataLossError("disk");
  });
  items = Read(fails, [] {});
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[1].status(), absl::DataLossError("disk"));
}

TEST_F(StreamEndTest, FinishTellsAnError) {
  Ref<Source> source = system().Spawn<Source>([](Source&, int, Source::Writer writer) -> Task<absl::Status> {
    writer.Finish(absl::OutOfRangeError("no more"));
    co_return absl::OkStatus();
  });
  const std::vector<Item> items = Read(source, [] {});
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].status(), absl::OutOfRangeError("no more"));
  EXPECT_EQ(items[1].status(), absl::OutOfRangeError("no more"));
}

TEST_F(StreamEndTest, ARefusalIsItsEnd) {
  Ref<Source> source = system().Spawn<Source>(Keep);
  std::vector<Item> items = Read(Ref<Source>(Pid()), [] {});
  EXPECT_TRUE(IsNoProcess(items[0].status())) << items[0].status();
  system().Kill(source.pid());
  system().RunUntilIdle();
  items = Read(source, [] {});
  EXPECT_TRUE(IsNoProcess(items[0].status())) << items[0].status();
}

TEST_F(StreamEndTest, AStreamIsNoOtherCall) {
  Ref<Source> source = system().Spawn<Source>(Keep);
  const Channel<Call<int, std::string>> unary(source.pid(), source[&Source::read].mailbox());
  EXPECT_TRUE(IsNoMailbox(Ask(unary, 1).status()));
  Ref<Script> script = system().Spawn<Script>();
  const Channel<Call<int, Stream<int>>> stream(script.pid(), script[&Script::ask].mailbox());
  absl::Status status;
  RunTask(system().Spawn<Script>(), [&](Script&) -> Task<> {
    Stream<int> asked = stream.Ask(1);
    absl::StatusOr<absl::optional<int>> item = co_await asked.Next(absl::Seconds(1));
    status = item.status();
  });
  system().RunUntilIdle();
  EXPECT_TRUE(IsNoMailbox(status)) << status;
}

TEST_F(StreamEndTest, DestroyingItIsToldToItsWriterAtOnce) {
  const MonotonicTime before = system().Now();
  const Told told = WritersNews(
      [](Ref<Script> reader, std::unique_ptr<Texts>& stream) { Do(reader, [&](Script&) { stream = nullptr; }); });
  EXPECT_EQ(system().Now(), before);
  EXPECT_TRUE(understudy::IsCancelled(told.waiting)) << told.waiting;
  EXPECT_EQ(told.after, told.waiting);
  EXPECT_FALSE(ExitReasonOf(told.waiting).has_value());
}

TEST_F(StreamEndTest, TheEndOfTheAskerIsToldToItsWriterWithTheReason) {
  const Told told = WritersNews([&](Ref<Script> reader, std::unique_ptr<Texts>& stream) {
    system().Exit(reader.pid(), ExitReason::Failed(absl::DataLossError("reader")));
    system().RunUntilIdle();
    stream = nullptr;
  });
  EXPECT_TRUE(understudy::IsCancelled(told.waiting)) << told.waiting;
  EXPECT_EQ(ExitReasonOf(told.waiting), ExitReason::Failed(absl::DataLossError("reader")));
  EXPECT_EQ(told.after, told.waiting);
}

// An actor whose destructor uses both ends, when its asks are gone.
class UsesThemAtItsEnd final : public Actor {
 public:
  Mailbox<"read", Call<int, Stream<std::string>>> read{this};

  UsesThemAtItsEnd() = default;
  ~UsesThemAtItsEnd() override {
    if (!writer_.has_value()) return;
    EXPECT_TRUE(writer_->is_cancelled());
    (void)writer_->Write("x", absl::Seconds(1));
    EXPECT_FALSE(writer_->TakeUnwritten().has_value());
    (void)stream_->Next(absl::Seconds(1));
  }

 private:
  StartResult Start() override { return keeping_; }
  void Keep(int, StreamWriter<std::string> writer) {
    writer_.emplace(std::move(writer));
    stream_.emplace(Ref<UsesThemAtItsEnd>(context().Self())[&UsesThemAtItsEnd::read].Ask(1));
    context().Stop(ExitReason::Normal());
  }

  absl::optional<StreamWriter<std::string>> writer_;
  absl::optional<Texts> stream_;
  Behavior keeping_{"keeping", On(read, &UsesThemAtItsEnd::Keep)};
};

TEST_F(StreamEndTest, BothEndsMayBeUsedByTheDestructorOfTheirActor) {
  Ref<UsesThemAtItsEnd> actor = system().Spawn<UsesThemAtItsEnd>();
  absl::Status end;
  RunTask(system().Spawn<Script>(), [&](Script&) -> Task<> {
    Texts stream = actor[&UsesThemAtItsEnd::read].Ask(1);
    Item item = co_await stream.Next(absl::Seconds(1));
    end = item.status();
  });
  system().RunUntilIdle();
  EXPECT_TRUE(IsCalleeExited(end)) << end;
}

TEST_F(StreamEndTest, ACallThatWaitsIsTakenBack) {
  Ref<Source> source = system().Spawn<Source>([](Source& self, int, Source::Writer writer) -> Task<absl::Status> {
    self.kept.push_back(std::move(writer));
    co_return absl::OkStatus();
  });
  Do(system().Spawn<Script>(), [&](Script&) { (void)source[&Source::read].Ask(0); });
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().of(Disposition::kCancelled), 1);
}

TEST_F(StreamEndTest, ANextThatWaitsIsAnsweredWhenItsStreamIsCancelled) {
  Ref<Source> source = system().Spawn<Source>([](Source& self, int, Source::Writer writer) -> Task<absl::Status> {
    self.kept.push_back(std::move(writer));
    co_return absl::OkStatus();
  });
  absl::Status status;
  RunTask(system().Spawn<Script>(), [&](Script&) -> Task<> {
    Texts stream = source[&Source::read].Ask(0);
    auto next = stream.Next(absl::Hours(1));
    stream.Cancel();
    Item item = co_await next;
    status = item.status();
  });
  system().RunUntilIdle();
  EXPECT_TRUE(understudy::IsCancelled(status)) << status;
}

// A stream that is asked for while a call is handled.
TEST_F(StreamEndTest, ItIsCancelledWithTheCallForWhichItWasOpened) {
  Ref<Source> inner = system().Spawn<Source>(Keep);
  std::vector<std::string> seen;
  Ref<Source> outer = system().Spawn<Source>([&](Source&, int, Source::Writer /*writer*/) -> Task<absl::Status> {
    Texts stream = inner[&Source::read].Ask(0);
    for (int i = 0; i < 2; ++i) {
      Item item = co_await stream.Next(absl::Hours(1));
      seen.push_back(item.ok() ? **item : absl::StrCat("cancelled: ", understudy::IsCancelled(item.status())));
    }
    co_return absl::OkStatus();
  });
  std::unique_ptr<Texts> stream;
  Ref<Script> reader = system().Spawn<Script>();
  Do(reader, [&](Script&) { stream = std::make_unique<Texts>(outer[&Source::read].Ask(0)); });
  system().RunUntilIdle();
  Do(reader, [&](Script&) { stream = nullptr; });
  system().RunUntilIdle();
  EXPECT_THAT(seen, ElementsAre("kept", "cancelled: 1"));
}

}  // namespace
}  // namespace understudy

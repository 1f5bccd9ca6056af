// How an upload ends: by its writer, by its reader, by its answer, and by the end of either actor (semantics 10.9).
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
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/upload.h"
#include "understudy/tests/actors/script.h"
#include "understudy/tests/actors/streams/sink.h"

namespace understudy {
namespace {

using Item = absl::StatusOr<absl::optional<std::string>>;
using Opened = Upload<std::string, Pending<int>>;

class UploadEndTest : public ActorTest {
 protected:
  // Returns how an upload of one item ends for its handler when `cause` runs after the item was written. The asker's
  // result goes to `answer_`.
  absl::Status ReadersNews(absl::FunctionRef<void(Ref<Script>, std::unique_ptr<Opened>&)> cause,
                           absl::Duration within = absl::Hours(10)) {
    std::vector<Item> items;
    Ref<Sink> sink = system().Spawn<Sink>([&items](Sink&, Sink::Items upload) -> Task<absl::StatusOr<int>> {
      for (int i = 0; i < 3; ++i) items.push_back(co_await upload.Next(absl::Hours(2)));
      co_return absl::AlreadyExistsError("answered");
    });
    std::unique_ptr<Opened> opened;
    Ref<Script> writer = system().Spawn<Script>();
    RunTask(writer, [&, sink](Script&) -> Task<> {
      opened = std::make_unique<Opened>(sink[&Sink::write].Open(within));
      absl::Status written = co_await opened->items.Write("one", absl::Seconds(1));
      EXPECT_TRUE(written.ok()) << written;
    });
    system().RunUntilIdle();
    cause(writer, opened);
    system().RunUntilIdle();
    system().Kill(writer.pid());
    system().RunUntilIdle();
    EXPECT_EQ(items.size(), 3U);
    EXPECT_TRUE(items[0].ok());
    if (!IsExpired(items[1].status())) {
      EXPECT_EQ(items[1].status(), items[2].status());
    }
    opened = nullptr;
    return items[1].status();
  }
  // The results of a Write that waits while `cause` runs, and of one after that, and the answer to the upload.
  struct Told {
    absl::Status waiting;
    absl::Status after;
    absl::StatusOr<int> answer = absl::UnknownError("none yet");
  };
  Told WritersNews(Channel<Sink::Uploads> to, absl::FunctionRef<void()> cause) {
    auto told = std::make_shared<Told>();
    RunTask(system().Spawn<Script>(), [told, to](Script&) -> Task<> {
      auto [writer, receipt] = to.Open(absl::Hours(10));
      for (size_t i = 0; i < limits::kStreamItemsMax; ++i) {
        absl::Status written = co_await writer.Write("x", absl::Seconds(1));
        if (!written.ok()) break;
      }
      told->waiting = co_await writer.Write("waits", absl::Hours(1));
      EXPECT_TRUE(writer.is_cancelled());
      told->after = co_await writer.Write("after", absl::Hours(1));
      EXPECT_EQ(writer.TakeUnwritten(), absl::optional<std::string>("after"));
      writer.Finish(absl::OkStatus());
      told->answer = co_await receipt;
    });
    system().RunUntilIdle();
    EXPECT_TRUE(told->waiting.ok());
    cause();
    system().RunUntilIdle();
    return *told;
  }
  Told KeptWritersNews(absl::FunctionRef<void(Ref<Sink>)> cause) {
    Ref<Sink> sink = system().Spawn<Sink>(nullptr);
    return WritersNews(sink[&Sink::keep], [&] { cause(sink); });
  }
};

// ---- What the reader is told ----

TEST_F(UploadEndTest, FinishIsTheEndBehindTheItems) {
  const absl::Status end = ReadersNews([](Ref<Script> writer, std::unique_ptr<Opened>& opened) {
    Do(writer, [&](Script&) { opened->items.Finish(absl::OkStatus()); });
  });
  EXPECT_TRUE(end.ok()) << end;
}

TEST_F(UploadEndTest, FinishTellsAnError) {
  const absl::Status end = ReadersNews([](Ref<Script> writer, std::unique_ptr<Opened>& opened) {
    Do(writer, [&](Script&) { opened->items.Finish(absl::OutOfRangeError("no more")); });
  });
  EXPECT_EQ(end, absl::OutOfRangeError("no more"));
}

TEST_F(UploadEndTest, AWriterThatIsDestroyedUnfinishedGivesCancelledAndTheCallIsAnswered) {
  absl::Status answer;
  const absl::Status end = ReadersNews([&](Ref<Script> writer, std::unique_ptr<Opened>& opened) {
    RunTask(writer, [&](Script&) -> Task<> {
      Pending<int> receipt = opened->answer;
      opened = nullptr;
      absl::StatusOr<int> got = co_await receipt;
      answer = got.status();
    });
  });
  EXPECT_TRUE(understudy::IsCancelled(end)) << end;
  EXPECT_FALSE(ExitReasonOf(end).has_value());
  EXPECT_EQ(answer, absl::AlreadyExistsError("answered"));
}

TEST_F(UploadEndTest, CancellingTheCallIsToldToTheReaderAtOnce) {
  const MonotonicTime before = system().Now();
  const absl::Status end = ReadersNews([](Ref<Script> writer, std::unique_ptr<Opened>& opened) {
    Do(writer, [&](Script&) { opened->answer.Cancel(); });
  });
  EXPECT_EQ(system().Now(), before);
  EXPECT_TRUE(understudy::IsCancelled(end)) << end;
}

TEST_F(UploadEndTest, TheEndOfTheAskerIsToldToTheReaderWithTheReason) {
  const absl::Status end = ReadersNews([&](Ref<Script> writer, std::unique_ptr<Opened>&) {
    system().Exit(writer.pid(), ExitReason::Failed(absl::DataLossError("asker")));
  });
  EXPECT_TRUE(understudy::IsCancelled(end)) << end;
  EXPECT_EQ(ExitReasonOf(end), ExitReason::Failed(absl::DataLossError("asker")));
}

TEST_F(UploadEndTest, TheDeadlineOfTheCallEndsItAtBothEnds) {
  absl::Status written;
  const absl::Status end = ReadersNews(
      [&](Ref<Script> writer, std::unique_ptr<Opened>& opened) {
        system().Advance(absl::Minutes(2));
        RunTask(writer, [&](Script&) -> Task<> { written = co_await opened->items.Write("late", absl::Seconds(1)); });
      },
      absl::Minutes(1));
  EXPECT_TRUE(IsExpired(end) || understudy::IsCancelled(end)) << end;
  EXPECT_TRUE(IsExpired(written)) << written;
}

// ---- What the writer is told ----

TEST_F(UploadEndTest, TheEndOfTheReadersActorIsToldToTheWriterWithTheReason) {
  const Told told = KeptWritersNews([&](Ref<Sink> sink) { system().Kill(sink.pid()); });
  EXPECT_TRUE(IsCalleeExited(told.waiting)) << told.waiting;
  EXPECT_EQ(ExitReasonOf(told.waiting), ExitReason::Killed());
  EXPECT_EQ(told.after, told.waiting);
  EXPECT_TRUE(IsCalleeExited(told.answer.status())) << told.answer.status();
}

TEST_F(UploadEndTest, AReaderThatIsDestroyedGivesCancelledAndTheCallGoesOn) {
  const Told told = KeptWritersNews([](Ref<Sink> sink) {
    sink[&Sink::drop].Tell(true);
    sink[&Sink::answer].Tell(5);
  });
  EXPECT_TRUE(understudy::IsCancelled(told.waiting)) << told.waiting;
  EXPECT_EQ(told.after, told.waiting);
  EXPECT_EQ(*told.answer, 5);
}

TEST_F(UploadEndTest, AnAnswerBeforeTheEndGivesCancelledToTheWriterAndToAReaderThatIsKept) {
  Ref<Sink> kept_by = system().Spawn<Sink>(nullptr);
  const Told told = WritersNews(kept_by[&Sink::keep], [&] { kept_by[&Sink::answer].Tell(5); });
  EXPECT_TRUE(understudy::IsCancelled(told.waiting)) << told.waiting;
  EXPECT_EQ(told.after, told.waiting);
  EXPECT_EQ(*told.answer, 5);
  EXPECT_EQ(*Ask(kept_by[&Sink::drain], true), static_cast<int>(limits::kStreamItemsMax)) << "and then Cancelled";
}

TEST_F(UploadEndTest, AHandlersErrorIsTheAnswerAndIsToldToTheWriter) {
  Ref<Sink> sink = system().Spawn<Sink>(nullptr);
  const Told told = WritersNews(sink[&Sink::spoil], [&] { system().Advance(absl::Minutes(1)); });
  EXPECT_EQ(told.waiting, absl::DataLossError("disk"));
  EXPECT_EQ(told.after, absl::DataLossError("disk"));
  EXPECT_EQ(told.answer.status(), absl::DataLossError("disk"));
}

TEST_F(UploadEndTest, TheFailureOfTheHandlerIsToldToTheWriter) {
  Ref<Sink> sink = system().Spawn<Sink>([](Sink& self, Sink::Items) -> Task<absl::StatusOr<int>> {
    auto sleep = self.context().Sleep(absl::Minutes(1));
    (void)co_await sleep;
    (void)self.Fail(absl::DataLossError("disk"));
    co_return 1;
  });
  const Told told = WritersNews(sink[&Sink::write], [&] { system().Advance(absl::Minutes(1)); });
  EXPECT_TRUE(IsCalleeExited(told.waiting)) << told.waiting;
  EXPECT_TRUE(IsCalleeExited(told.answer.status())) << told.answer.status();
}

TEST_F(UploadEndTest, ARefusalIsTheAnswerAndIsToldToTheWriter) {
  for (const Pid pid : {Pid(), system().Spawn<Script>().pid()}) {
    absl::Status written;
    absl::Status answer;
    RunTask(system().Spawn<Script>(), [&](Script&) -> Task<> {
      auto [writer, receipt] = Ref<Sink>(pid)[&Sink::write].Open(absl::Hours(1));
      written = co_await writer.Write("x", absl::Seconds(1));
      absl::StatusOr<int> got = co_await receipt;
      answer = got.status();
    });
    system().RunUntilIdle();
    EXPECT_TRUE(pid.is_null() ? IsNoProcess(written) : IsNoMailbox(written)) << written;
    EXPECT_EQ(answer, written);
  }
}

TEST_F(UploadEndTest, TheFenceOfEitherActorIsToldToTheOther) {
  const auto hold = [this] { system().seeded_executor().HoldHere(absl::Seconds(1)); };
  const auto kill_soon = [this](Pid pid) {
    system().seeded_executor().RunAt(system().Now() + absl::Milliseconds(10), [this, pid] { system().Kill(pid); });
  };
  const Told told = KeptWritersNews([&](Ref<Sink> sink) {
    sink[&Sink::once].Tell(hold);
    kill_soon(sink.pid());
  });
  EXPECT_TRUE(IsCalleeExited(told.waiting)) << told.waiting;
  EXPECT_EQ(ExitReasonOf(told.waiting), ExitReason::KilledHandlerRunning());
  EXPECT_TRUE(IsCalleeExited(told.answer.status())) << told.answer.status();
  const absl::Status end = ReadersNews([&](Ref<Script> writer, std::unique_ptr<Opened>&) {
    Do(writer, [&](Script&) { hold(); });
    kill_soon(writer.pid());
  });
  EXPECT_TRUE(understudy::IsCancelled(end)) << end;
  EXPECT_EQ(ExitReasonOf(end), ExitReason::KilledHandlerRunning());
}

// ---- The call ----

TEST_F(UploadEndTest, AnUploadIsNoOtherCall) {
  Ref<Sink> sink = system().Spawn<Sink>(nullptr);
  absl::Status status;
  RunTask(system().Spawn<Script>(), [&](Script&) -> Task<> {
    const Channel<Sink::Uploads> of_chat(sink.pid(), sink[&Sink::chat].mailbox());
    auto opened = of_chat.Open(absl::Hours(1));
    absl::StatusOr<int> got = co_await opened.answer;
    status = got.status();
  });
  system().RunUntilIdle();
  EXPECT_TRUE(IsNoMailbox(status)) << status;
}

TEST_F(UploadEndTest, ACallThatWaitsIsTakenBack) {
  Ref<Sink> sink = system().Spawn<Sink>(nullptr, Sink::Begins::kClosed);
  Do(system().Spawn<Script>(), [&](Script&) {
    auto opened = sink[&Sink::write].Open(absl::Hours(1));
    (void)opened.items.Write("x", absl::Seconds(1));
    opened.answer.Cancel();
  });
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().of(Disposition::kCancelled), 1);
}

TEST_F(UploadEndTest, ItIsCancelledWithTheCallForWhichItWasOpened) {
  Ref<Sink> inner = system().Spawn<Sink>(nullptr);
  absl::Status written;
  Ref<Sink> outer = system().Spawn<Sink>([&](Sink&, Sink::Items) -> Task<absl::StatusOr<int>> {
    auto [writer, receipt] = inner[&Sink::keep].Open(absl::Hours(1));
    do {
      written = co_await writer.Write("x", absl::Hours(1));
    } while (written.ok());
    co_return 1;
  });
  std::unique_ptr<Opened> opened;
  Ref<Script> script = system().Spawn<Script>();
  Do(script, [&](Script&) { opened = std::make_unique<Opened>(outer[&Sink::write].Open(absl::Hours(5))); });
  system().RunUntilIdle();
  EXPECT_TRUE(written.ok());
  Do(script, [&](Script&) {
    opened->answer.Cancel();
    opened = nullptr;
  });
  system().RunUntilIdle();
  EXPECT_TRUE(understudy::IsCancelled(written)) << written;
}

// An actor whose destructor uses both ends of an upload to itself, when its asks are gone.
class UsesThemAtItsEnd final : public Actor {
 public:
  Mailbox<"begin", bool> begin{this};
  Mailbox<"write", Call<Stream<std::string>, int>> write{this};

  UsesThemAtItsEnd() = default;
  ~UsesThemAtItsEnd() override {
    EXPECT_TRUE(opened_->items.is_open());
    (void)opened_->items.Write("x", absl::Seconds(1));
    (void)upload_->Next(absl::Seconds(1));
  }

 private:
  StartResult Start() override { return keeping_; }
  void Begin(bool) {
    opened_.emplace(Ref<UsesThemAtItsEnd>(context().Self())[&UsesThemAtItsEnd::write].Open(absl::Hours(1)));
  }
  void Keep(Stream<std::string> upload, Replier<int> replier) {
    upload_.emplace(std::move(upload));
    replier_.emplace(std::move(replier));
    context().Stop(ExitReason::Normal());
  }

  absl::optional<Opened> opened_;
  absl::optional<Stream<std::string>> upload_;
  absl::optional<Replier<int>> replier_;
  Behavior keeping_{"keeping", On(begin, &UsesThemAtItsEnd::Begin), On(write, &UsesThemAtItsEnd::Keep)};
};

TEST_F(UploadEndTest, BothEndsMayBeUsedByTheDestructorOfTheirActor) {
  Ref<UsesThemAtItsEnd> actor = system().Spawn<UsesThemAtItsEnd>();
  EXPECT_EQ(EndOf(actor.pid(), [&] { actor[&UsesThemAtItsEnd::begin].Tell(true); }), ExitReason::Normal());
}

}  // namespace
}  // namespace understudy

// Probes and mocks of mailboxes whose answer or request comes in items.
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
#include "understudy/actors/error.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/mailbox_mock.h"
#include "understudy/actors/testing/mailbox_probe.h"
#include "understudy/actors/upload.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using Prices = Call<int, Stream<std::string>>;

// An actor with one double, as x.testing.h has them.
template <template <class> class Double>
class Serving final : public Actor {
 public:
  Mailbox<"prices", Prices> prices{this};

  explicit Serving(typename Double<Prices>::Handler on_prices)
      : serving_("serving", On(prices, std::move(on_prices))) {}

 private:
  StartResult Start() override { return serving_; }
  Behavior serving_;
};

class StreamDoublesTest : public ActorTest {
 protected:
  // Returns what a reader of the request's stream gets: the items, and then the text of the error at the end, if any.
  template <template <class> class Double>
  std::vector<std::string>* Read(Ref<Serving<Double>> serving, int request) {
    reads_.push_back(std::make_unique<std::vector<std::string>>());
    std::vector<std::string>* const items = reads_.back().get();
    RunTask(system().Spawn<Script>(), [=](Script&) -> Task<> {
      Stream<std::string> stream = serving[&Serving<Double>::prices].Ask(request);
      for (;;) {
        absl::StatusOr<absl::optional<std::string>> item = co_await stream.Next(absl::Hours(1));
        if (!item.ok()) items->push_back(std::string(item.status().message()));
        if (!item.ok() || !item->has_value()) break;
        items->push_back(**item);
      }
      items->push_back("end");
    });
    system().RunUntilIdle();
    return items;
  }

  std::vector<std::unique_ptr<std::vector<std::string>>> reads_;
};

TEST_F(StreamDoublesTest, AMockWritesTheItemsThatTheTestHasSaid) {
  MailboxMock<Prices> prices(system(), "prices");
  Ref<Serving<MailboxMock>> serving = system().Spawn<Serving<MailboxMock>>(prices.handler());
  prices.Expect(1).Answer(std::vector<std::string>{"a", "b"});
  prices.Allow(2).Answer(absl::NotFoundError("no two"));
  prices.Allow(3);
  prices.Allow(4).AnswerBy([](int) { return std::vector<std::string>(100, "x"); });
  EXPECT_THAT(*Read(serving, 1), ElementsAre("a", "b", "end"));
  EXPECT_THAT(*Read(serving, 2), ElementsAre("no two", "end"));
  EXPECT_THAT(*Read(serving, 3), ElementsAre("end"));
  EXPECT_EQ(Read(serving, 4)->size(), 101U);
}

TEST_F(StreamDoublesTest, AProbeShowsTheRequestsAndTheTestEndsTheStreams) {
  MailboxProbe<Prices> prices(system(), "prices");
  Ref<Serving<MailboxProbe>> serving = system().Spawn<Serving<MailboxProbe>>(prices.handler());
  const std::vector<std::string>* const finished = Read(serving, 1);
  const std::vector<std::string>* const forgotten = Read(serving, 2);
  absl::optional<AskedStream<int, std::string>> asked = prices.Receive();
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->request, 1);
  asked->writer.Finish(absl::OkStatus());
  asked = prices.Receive();
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->request, 2);
  asked.reset();
  system().RunUntilIdle();
  EXPECT_THAT(*finished, ElementsAre("end"));
  EXPECT_EQ(forgotten->size(), 2U) << "Unanswered, and the end";
}

using ImportRows = Call<Stream<std::string>, int>;
using Chat = Call<Stream<std::string>, Stream<std::string>>;

template <template <class> class Double>
class TakingUploads final : public Actor {
 public:
  Mailbox<"import", ImportRows> import{this};
  Mailbox<"chat", Chat> chat{this};

  TakingUploads(typename Double<ImportRows>::Handler on_import, typename Double<Chat>::Handler on_chat)
      : taking_("taking", On(import, std::move(on_import)), On(chat, std::move(on_chat))) {}

 private:
  StartResult Start() override { return taking_; }
  Behavior taking_;
};

class UploadDoublesTest : public ActorTest {
 protected:
  // Writes `items`, finishes with `end`, and keeps the answer.
  template <template <class> class Double>
  std::shared_ptr<absl::StatusOr<int>> Import(Ref<TakingUploads<Double>> taking, std::vector<std::string> items,
                                              absl::Status end = absl::OkStatus()) {
    auto answer = std::make_shared<absl::StatusOr<int>>(absl::UnknownError("none yet"));
    RunTask(system().Spawn<Script>(), [=](Script&) -> Task<> {
      auto [writer, receipt] = taking[&TakingUploads<Double>::import].Open(absl::Hours(1));
      for (const std::string& item : items) {
        absl::Status written = co_await writer.Write(item, absl::Minutes(1));
        EXPECT_TRUE(written.ok()) << written;
      }
      writer.Finish(end);
      *answer = co_await receipt;
    });
    system().RunUntilIdle();
    return answer;
  }
};

TEST_F(UploadDoublesTest, AMockMatchesAllItemsAndAnswers) {
  MailboxMock<ImportRows> import(system(), "import");
  MailboxMock<Chat> chat(system(), "chat");
  Ref<TakingUploads<MailboxMock>> taking = system().Spawn<TakingUploads<MailboxMock>>(import.handler(), chat.handler());
  import.Expect(ElementsAre("a", "b")).Answer(2);
  import.Allow(std::vector<std::string>()).Answer(absl::NotFoundError("nothing"));
  EXPECT_EQ(**Import(taking, {"a", "b"}), 2);
  EXPECT_EQ(Import(taking, {})->status(), absl::NotFoundError("nothing"));
  EXPECT_TRUE(IsUnanswered(Import(taking, {"a"}, absl::DataLossError("lost"))->status())) << "it has no end";
  chat.Expect(ElementsAre("a")).Answer(std::vector<std::string>{"x", "y"});
  std::vector<std::string> answers;
  RunTask(system().Spawn<Script>(), [&](Script&) -> Task<> {
    auto [writer, stream] = taking[&TakingUploads<MailboxMock>::chat].Open();
    absl::Status written = co_await writer.Write("a", absl::Minutes(1));
    EXPECT_TRUE(written.ok()) << written;
    writer.Finish(absl::OkStatus());
    for (int i = 0; i < 3; ++i) {
      absl::StatusOr<absl::optional<std::string>> item = co_await stream.Next(absl::Minutes(1));
      answers.push_back(item.ok() && item->has_value() ? **item : "end");
    }
  });
  system().RunUntilIdle();
  EXPECT_THAT(answers, ElementsAre("x", "y", "end"));
}

TEST_F(UploadDoublesTest, AProbeShowsAllItems) {
  MailboxProbe<ImportRows> import(system(), "import");
  MailboxProbe<Chat> chat(system(), "chat");
  Ref<TakingUploads<MailboxProbe>> taking =
      system().Spawn<TakingUploads<MailboxProbe>>(import.handler(), chat.handler());
  const std::shared_ptr<absl::StatusOr<int>> answer = Import(taking, {"a", "b"});
  absl::optional<Asked<std::vector<std::string>, int>> asked = import.Receive();
  ASSERT_TRUE(asked.has_value());
  EXPECT_THAT(asked->request, ElementsAre("a", "b"));
  asked->replier.Reply(2);
  system().RunUntilIdle();
  EXPECT_EQ(**answer, 2);
  chat.ExpectNothing();
}

}  // namespace
}  // namespace understudy

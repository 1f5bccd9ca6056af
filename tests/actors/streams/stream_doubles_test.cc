// Probes and mocks of a mailbox that answers with a stream.
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
  // What a reader gets from the request: its items, and then the text of the end.
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

}  // namespace
}  // namespace understudy

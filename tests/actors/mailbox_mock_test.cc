// Tests of what MailboxMock does with each message, and of when it fails the test.
#include "understudy/actors/testing/mailbox_mock.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/testing/actor_test.h"

namespace understudy {
namespace {

using ::testing::Gt;
using ::testing::Lt;

// An actor with two mocks, as x.testing.h has them.
class Till final : public Actor {
 public:
  Mailbox<"price", Call<int, std::string>> price{this};
  Mailbox<"note", int> note{this};

  Till(MailboxMock<Call<int, std::string>>::Handler on_price, MailboxMock<int>::Handler on_note)
      : serving_("serving", On(price, std::move(on_price)), On(note, std::move(on_note))) {}

 private:
  StartResult Start() override { return serving_; }
  Behavior serving_;
};

class MailboxMockTest : public ActorTest {
 protected:
  absl::StatusOr<std::string> PriceOf(int item) { return Ask(till_[&Till::price], item); }
  void Note(int number) {
    till_[&Till::note].Tell(number);
    system().RunUntilIdle();
  }

  MailboxMock<Call<int, std::string>> price_{system(), "price"};
  MailboxMock<int> note_{system(), "note"};
  Ref<Till> till_ = system().Spawn<Till>(price_.handler(), note_.handler());
};

TEST_F(MailboxMockTest, AnswersCallsAsTheTestHasSaid) {
  price_.Expect(1).Answer("one");
  price_.Expect(1).Answer("one again");
  price_.Allow(Gt(5)).AnswerBy([](int item) { return std::string(static_cast<size_t>(item), 'x'); });
  price_.Allow(7).Answer(absl::NotFoundError("no seven"));
  price_.Allow(5);
  EXPECT_EQ(*PriceOf(1), "one");
  EXPECT_EQ(*PriceOf(6), "xxxxxx");
  EXPECT_EQ(PriceOf(7).status(), absl::NotFoundError("no seven"));
  EXPECT_EQ(*PriceOf(1), "one again");
  EXPECT_EQ(*PriceOf(5), "") << "a reply by default";
}

TEST_F(MailboxMockTest, MayLeaveACallUnanswered) {
  price_.Expect().NeverAnswer();
  EXPECT_TRUE(IsExpired(PriceOf(1).status()));
}

TEST_F(MailboxMockTest, AMessageThatIsNotExpectedFailsTheTest) {
  note_.Allow(Lt(10));
  note_.Disallow(5);
  note_.Expect(5);
  Note(3);
  Note(5);
  EXPECT_NONFATAL_FAILURE(Note(5), "the mock of note does not expect this message: 5");
  EXPECT_NONFATAL_FAILURE(Note(12), "the mock of note does not expect this message: 12");
  absl::StatusOr<std::string> price;
  EXPECT_NONFATAL_FAILURE(price = PriceOf(1), "the mock of price does not expect this message: 1");
  EXPECT_EQ(price.status(), absl::FailedPreconditionError("the mock of price does not expect this message"));
}

TEST_F(MailboxMockTest, AnExpectedMessageThatDoesNotComeFailsTheTest) {
  note_.Expect(5);
  EXPECT_NONFATAL_FAILURE(note_.Verify(), "the mock of note expects a message that is equal to 5, which has not come");
  EXPECT_NONFATAL_FAILURE(
      {
        MailboxMock<int> mock(system(), "other");
        mock.Expect(Gt(6));
      },
      "the mock of other expects a message that is > 6, which has not come");
}

TEST_F(MailboxMockTest, ItsHandlerMayOutliveIt) {
  auto brief = std::make_unique<MailboxMock<int>>(system(), "brief");
  const Ref<Till> till = system().Spawn<Till>(price_.handler(), brief->handler());
  brief.reset();
  till[&Till::note].Tell(1);
  EXPECT_NONFATAL_FAILURE(system().RunUntilIdle(), "the mock of brief does not expect this message: 1");
}

}  // namespace
}  // namespace understudy

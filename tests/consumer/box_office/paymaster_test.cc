// Example 1: one actor, in virtual time, with a mock of what it asks.
#include "box_office/paymaster.h"

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "box_office/box_office.testing.h"
#include "box_office/disk.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/testing/actor_test.h"

namespace consumer::box_office {
namespace {

using testing::AllOf;
using testing::Property;

auto Changes(const std::string& account, int64_t cents) {
  return AllOf(Property(&ChangeRequest::account, account), Property(&ChangeRequest::cents, cents));
}

class PaymasterTest : public understudy::ActorTest {
 protected:
  PaymasterTest() {
    wage_.set_id("friday");
    wage_.mutable_role()->set_name("Hamlet");
    wage_.set_cents(500);
  }

  MockSafe safe_{system(), {.registered_as = "safe"}};
  Journal journal_;
  PayRequest wage_;
};

TEST_F(PaymasterTest, TakesFromTheTillAndGivesToTheRole) {
  const PaymasterRef paymaster = system().Spawn<WagePaymaster>(&journal_);
  safe_.change.Expect(Changes("till", -500));
  safe_.change.Expect(Changes("Hamlet", 500));
  EXPECT_TRUE(Ask(paymaster.pay(), wage_).ok());
  EXPECT_TRUE(journal_.empty());
}

TEST_F(PaymasterTest, AsksAgainWhenTheSafeDoesNotAnswer) {
  const PaymasterRef paymaster = system().Spawn<WagePaymaster>(&journal_);
  safe_.change.Expect(Changes("till", -500)).NeverAnswer();
  safe_.change.Expect(Changes("till", -500));
  safe_.change.Expect(Changes("Hamlet", 500));
  EXPECT_TRUE(Ask(paymaster.pay(), wage_, absl::Seconds(5)).ok());
}

TEST_F(PaymasterTest, FinishesAtItsStartWhatIsWrittenDown) {
  journal_["friday"] = wage_;
  safe_.change.Expect(Changes("till", -500));
  safe_.change.Expect(Changes("Hamlet", 500));
  system().Spawn<WagePaymaster>(&journal_);
  system().Advance(absl::Seconds(1));
  EXPECT_TRUE(journal_.empty());
}

}  // namespace
}  // namespace consumer::box_office

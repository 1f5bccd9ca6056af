// An actor that follows a script of the test's.
#include "understudy/actors/testing/mock.h"

#include "absl/status/status.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/named.h"
#include "understudy/actors/testing/actor_test.h"

namespace understudy {
namespace {

using MockTest = ActorTest;

TEST_F(MockTest, AnswersAsTheTestHasSaid) {
  Mock<Call<int, int>> stock(system(), "stock");
  stock.Expect(3).Answer(7);
  stock.Allow().Answer(absl::UnavailableError("closed"));
  EXPECT_EQ(Ask(stock.channel(), 3).value(), 7);
  EXPECT_EQ(Ask(stock.channel(), 3).status(), absl::UnavailableError("closed"));
}

TEST_F(MockTest, FailsTheTestWhenWhatItExpectsDoesNotCome) {
  Mock<int> stock(system(), "stock");
  stock.Expect(3);
  EXPECT_NONFATAL_FAILURE(stock.Verify(), "the mock of stock expects a message that is equal to 3");
}

TEST_F(MockTest, IsFoundByItsName) {
  Mock<int> stock(system(), "stock", {.registered_as = "the-stock"});
  system().RunUntilIdle();
  ASSERT_TRUE(system().WhereIs("the-stock").has_value());
  EXPECT_EQ(*system().WhereIs("the-stock"), stock.pid());
}

}  // namespace
}  // namespace understudy

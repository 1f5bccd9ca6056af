#include "understudy/supervision/internal/exclusive_children.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/exclusive_lives.h"
#include "understudy/supervision/internal/predecessor_watch.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Pid kSelf(1, 1, 1);
constexpr Pid kFirst(1, 2, 2);
constexpr Pid kSecond(1, 3, 3);

class ExclusiveChildrenTest : public testing::Test {
 protected:
  auto IsGone() {
    return [this](Pid life) { return gone_.count(life) > 0; };
  }
  // Returns the calls that Look makes: the children whose lives are gone, and the actors to be monitored.
  std::vector<std::string> Look(ExclusiveChildren& children) {
    std::vector<std::string> told;
    children.Look(
        IsGone(), [&](const Predecessor& predecessor) { told.push_back(predecessor.child + " is gone"); },
        [&](Pid left) {
          told.push_back(left == kFirst ? "awaits the first" : "awaits the second");
          return ++last_monitor_;
        });
    return told;
  }

  std::set<Pid> gone_;
  uint64_t last_monitor_ = 0;
  const ChildSpec exclusive_{.id = "book", .exclusive = true};
  const ChildSpec plain_{.id = "desk"};
};

TEST_F(ExclusiveChildrenTest, OnlyALifeOfAnExclusiveChildLingersUntilItIsGone) {
  ExclusiveChildren children;
  children.Begin(kSelf, /*has_made_up_ids=*/false);
  children.Began(exclusive_, kFirst, IsGone());
  children.Began(plain_, kSecond, IsGone());
  EXPECT_TRUE(children.Lingers(exclusive_, IsGone()));
  EXPECT_FALSE(children.Lingers(plain_, IsGone()));
  children.Await(1, "book");
  EXPECT_THAT(Look(children), ElementsAre("awaits the first"));
  EXPECT_THAT(Look(children), IsEmpty()) << "it is not due before its monitor fires";
  gone_.insert(kFirst);
  EXPECT_FALSE(children.Fired(2));
  EXPECT_TRUE(children.Fired(1));
  EXPECT_THAT(Look(children), ElementsAre("book is gone"));
  EXPECT_FALSE(children.Lingers(exclusive_, IsGone()));
}

TEST_F(ExclusiveChildrenTest, TheNextLifeOfTheSupervisorInheritsWhatIsNotGone) {
  const auto lives = std::make_shared<ExclusiveLives>();
  ExclusiveChildren earlier;
  earlier.SetAbove(lives, /*is_below_exclusive=*/false);
  earlier.Begin(kSelf, /*has_made_up_ids=*/false);
  earlier.Began(exclusive_, kFirst, IsGone());
  ExclusiveChildren later;
  later.SetAbove(lives, /*is_below_exclusive=*/false);
  later.Begin(kSecond, /*has_made_up_ids=*/false);
  EXPECT_THAT(later.Inherited(IsGone()), ElementsAre("book"));
  later.AwaitInherited(7, "book");
  EXPECT_THAT(Look(later), ElementsAre("awaits the first"));
  gone_.insert(kFirst);
  EXPECT_THAT(later.Inherited(IsGone()), IsEmpty());
}

TEST_F(ExclusiveChildrenTest, AnIdThatAPoolMadeUpMeansAnotherChildInItsNextLife) {
  const ChildSpec made_up{.id = "book#1", .exclusive = true};
  const auto lives = std::make_shared<ExclusiveLives>();
  ExclusiveChildren earlier;
  earlier.SetAbove(lives, /*is_below_exclusive=*/false);
  earlier.Begin(kSelf, /*has_made_up_ids=*/true);
  earlier.Began(made_up, kFirst, IsGone());
  ExclusiveChildren later;
  later.SetAbove(lives, /*is_below_exclusive=*/false);
  later.Begin(kSecond, /*has_made_up_ids=*/true);
  EXPECT_TRUE(earlier.Lingers(made_up, IsGone()));
  EXPECT_FALSE(later.Lingers(made_up, IsGone()));
}

TEST_F(ExclusiveChildrenTest, BelowAnExclusiveSupervisorEachLifeIsKept) {
  const auto lives = std::make_shared<ExclusiveLives>();
  ExclusiveChildren children;
  children.SetAbove(lives, /*is_below_exclusive=*/true);
  children.Begin(kSelf, /*has_made_up_ids=*/false);
  EXPECT_TRUE(children.IsBelowExclusive(plain_));
  children.Began(plain_, kFirst, IsGone());
  EXPECT_EQ(lives->FirstNotGone("desk", IsGone()), kFirst);
  EXPECT_FALSE(children.Lingers(plain_, IsGone())) << "the next life of the child itself may begin";
}

}  // namespace
}  // namespace understudy::internal

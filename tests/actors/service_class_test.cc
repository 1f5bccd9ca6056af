// Tests of what the classes that are generated from .proto services require of an actor: it must handle every mailbox
// of its service, and it may serve several services.
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/testing/actor_test.h"

namespace understudy {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class StockActor : public virtual Actor {  // (generated)
 public:
  using HandlesEveryMailboxOf = StockActor;
  static constexpr std::string_view kService = "shop.Stock";
  Mailbox<"Put", int> put{this};
  Mailbox<"Count", Call<int, int>> count{this};
};

class DoorActor : public virtual Actor {  // (generated)
 public:
  using HandlesEveryMailboxOf = DoorActor;
  static constexpr std::string_view kService = "shop.Door";
  Mailbox<"Open", int> open{this};
};

class ServiceClassTest : public ActorTest {
 protected:
  // The text of the reason with which the start of a T fails, or "started".
  template <class T>
  std::string StartOf() {
    const Pid pid = system().Spawn<T>().pid();
    const absl::Status started = system().AwaitStart(pid, absl::Minutes(1));
    return started.ok() ? "started" : started.ToString();
  }
};

class InTwoBehaviors final : public StockActor {
  StartResult Start() override { return filling_; }
  Behavior filling_{"filling", On(put, [](int) {}), Refuse(count, absl::UnavailableError("filling"))};
  Behavior full_{"full", Drop(put)};
};

class LeavesOutOne final : public StockActor {
  StartResult Start() override { return filling_; }
  Behavior filling_{"filling", On(put, [](int) {})};
};

class LeavesOutAll final : public StockActor, public DoorActor {
  StartResult Start() override { return StartResult::Starting(idle_); }
  Behavior idle_{"idle", After(absl::InfiniteDuration(), [] {})};
};

TEST_F(ServiceClassTest, EachMailboxOfAServiceNeedsAClause) {
  // semantics 2.11
  EXPECT_EQ(StartOf<InTwoBehaviors>(), "started");
  EXPECT_THAT(StartOf<LeavesOutOne>(), AllOf(HasSubstr("LeavesOutOne does not handle shop.Stock/Count: expected"),
                                             HasSubstr("FAILED_PRECONDITION"), Not(HasSubstr("shop.Stock/Put"))));
  EXPECT_THAT(StartOf<LeavesOutAll>(), HasSubstr("does not handle shop.Stock/Put, shop.Stock/Count, shop.Door/Open:"));
}

class BuildsInStart final : public StockActor {
  StartResult Start() override {
    later_ = Behavior("later", On(count, [](int n) { return n; }));
    return Behavior("now", On(put, [](int) {}));
  }
  absl::optional<Behavior> later_;
};

class BuildsAfterAwait final : public StockActor {
  StartResult Start() override { return Await(); }
  Task<StartResult> Await() {
    auto pause = context().Sleep(absl::Seconds(1));
    absl::Status slept = co_await pause;
    if (!slept.ok()) co_return slept;
    co_return Behavior("counting", On(put, [](int) {}), On(count, [](int n) { return n; }));
  }
};

class BuildsTooLittleAfterAwait final : public StockActor {
  StartResult Start() override { return Await(); }
  Task<StartResult> Await() {
    auto pause = context().Sleep(absl::Seconds(1));
    absl::Status slept = co_await pause;
    if (!slept.ok()) co_return slept;
    co_return Behavior("counting", On(count, [](int n) { return n; }));
  }
};

TEST_F(ServiceClassTest, AClauseThatStartBuildsCounts) {
  EXPECT_EQ(StartOf<BuildsInStart>(), "started");
  EXPECT_EQ(StartOf<BuildsAfterAwait>(), "started");
  EXPECT_THAT(StartOf<BuildsTooLittleAfterAwait>(), HasSubstr("does not handle shop.Stock/Put:"));
}

class BuildsLater final : public StockActor {
 public:
  BuildsLater() { context().HandlesLater(count); }

 private:
  StartResult Start() override { return filling_; }
  void Put(int n) {
    Become(Behavior("full", On(count, [n](int) { return n; })));
  }
  Behavior filling_{"filling", On(put, &BuildsLater::Put)};
};

TEST_F(ServiceClassTest, AMailboxThatIsHandledLaterNeedsNoClauseAtTheStart) {
  EXPECT_EQ(StartOf<BuildsLater>(), "started");
  const Ref<BuildsLater> later = system().Spawn<BuildsLater>();
  later[&StockActor::put].Tell(7);
  EXPECT_EQ(*Ask(later[&StockActor::count], 0), 7);
}

class InProcessStyle final : public StockActor {
  StartResult Start() override { return Body(); }
  Task<> Body() {
    auto received = Receive(On(put, [](int) {}));
    co_await received;
  }
};

class WithOwnMailbox final : public DoorActor {
 public:
  Mailbox<"own", int> own{this};

 private:
  StartResult Start() override { return open_; }
  Behavior open_{"open", On(open, [](int) {})};
};

TEST_F(ServiceClassTest, TheProcessStyleAndMailboxesOfOnesOwnAreNotChecked) {
  EXPECT_EQ(StartOf<WithOwnMailbox>(), "started");
  const Ref<InProcessStyle> body = system().Spawn<InProcessStyle>();
  EXPECT_EQ(EndOf(body.pid(), [&] { body[&StockActor::put].Tell(1); }), ExitReason::Normal());
}

// Between the actor and the service: its members are handlers of actors of another class.
class Shelf : public StockActor {
 protected:
  explicit Shelf(std::vector<std::string>* seen) : seen_(*seen) {}
  void Put(int n) { sum_ += n; }
  bool HasRoom() const { return sum_ < 10; }
  void Entered() { seen_.push_back("entered"); }

  int sum_ = 0;
  std::vector<std::string>& seen_;
};

class Shop final : public Shelf, public DoorActor {
 public:
  explicit Shop(std::vector<std::string>* seen) : Shelf(seen) {}

 private:
  StartResult Start() override { return open_; }
  int Count(int) { return sum_; }
  void Open(int n) { seen_.push_back(std::to_string(n)); }
  bool IsDay() const { return true; }

  Behavior open_ = Behavior("open", On(put, &Shop::Put).When(&Shop::HasRoom), On(count, &Shop::Count),
                            On(open, &Shop::Open).When(&Shop::IsDay))
                       .WhenEntered(&Shop::Entered);
};

TEST_F(ServiceClassTest, AnActorMayServeSeveralServices) {
  std::vector<std::string> seen;
  const Ref<Shop> shop = system().Spawn<Shop>(&seen);
  const Ref<StockActor> stock = shop;
  const Ref<DoorActor> door = shop;
  EXPECT_EQ(stock.pid(), door.pid());
  stock[&StockActor::put].Tell(12);
  stock[&StockActor::put].Tell(1);  // waits: the guard is of class Shelf
  door[&DoorActor::open].Tell(3);
  EXPECT_EQ(*Ask(stock[&StockActor::count], 0), 12);
  EXPECT_THAT(seen, ElementsAre("entered", "3"));
}

class FortyActor : public virtual Actor {
 public:
  static constexpr std::string_view kService = "shop.Forty";
  MailboxArray<"a", int> forty{this, 40};
};

class ThirtyActor : public virtual Actor {
 public:
  static constexpr std::string_view kService = "shop.Thirty";
  MailboxArray<"b", int> thirty{this, 30};
};

class Seventy final : public FortyActor, public ThirtyActor {
  StartResult Start() override { return Behavior("never", Drop(forty)); }
};

TEST(ServiceClassDeathTest, MoreThanSixtyFourMailboxesOfSeveralServicesNameThem) {
  EXPECT_DEATH(
      {
        TestSystem system;
        system.Spawn<Seventy>();
        system.RunUntilIdle();
      },
      "mailbox shop.Thirty/b.24. is one too many: an actor has at most 64, and this one has 40 of shop.Forty, 24 of "
      "shop.Thirty: move some to another actor");
}

}  // namespace
}  // namespace understudy

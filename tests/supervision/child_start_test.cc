// ChildStart: how long a supervisor keeps the arguments of a child, and which errors of its fields are found before any
// child starts.
#include "understudy/supervision/internal/child_start.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/test_system.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/pool.h"
#include "understudy/supervision/supervisor.h"

namespace understudy {
namespace {

using testing::HasSubstr;

constexpr absl::Duration kSoon = absl::Seconds(1);

using Large = std::shared_ptr<const std::string>;

// Reads its argument and does not keep it.
class Reader final : public Actor {
 public:
  explicit Reader(const Large& large) : size_(large->size()) {}
  Mailbox<"size", Call<int, size_t>> size{this};
  StartResult Start() override { return reading_; }

 private:
  size_t Size(int) { return size_; }
  const size_t size_;
  Behavior reading_{"reading", On(size, &Reader::Size)};
};

TEST(ChildStart, ARunningTemporaryChildKeepsNoArguments) {
  TestSystem system(1);
  const SupervisorRef root = system.Spawn(OneForOne());
  auto large = std::make_shared<const std::string>(1000, 'x');
  const std::weak_ptr<const std::string> watch = large;
  ASSERT_TRUE(system.Ask(root.start_child(), {Of<Reader>(large).Temporary().Spec("a")}, kSoon).ok());
  large.reset();
  EXPECT_TRUE(watch.expired());
  const absl::StatusOr<ChildSpec> spec = system.Ask(root.get_child_spec(), {"a"}, kSoon);
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->restart, RestartType::kTemporary);
  ChildSpec again = *spec;
  again.id = "b";
  EXPECT_THAT(std::string(system.Ask(root.start_child(), {again}, kSoon).status().message()),
              HasSubstr("start: is missing"));
}

TEST(ChildStart, APermanentChildKeepsItsArguments) {
  TestSystem system(1);
  const SupervisorRef root = system.Spawn(OneForOne());
  auto large = std::make_shared<const std::string>(1000, 'x');
  const std::weak_ptr<const std::string> watch = large;
  ASSERT_TRUE(system.Ask(root.start_child(), {Of<Reader>(large).Spec("a")}, kSoon).ok());
  large.reset();
  EXPECT_FALSE(watch.expired());
}

TEST(ChildStart, ATemporaryChildOfAPoolKeepsNoArgumentsEither) {
  for (const int shards : {1, 3}) {
    TestSystem system(1);
    const Pool<Reader(Large)>::Ref pool = system.Spawn<Pool<Reader(Large)>>(PoolOptions{.shards = shards});
    auto large = std::make_shared<const std::string>(1000, 'x');
    const std::weak_ptr<const std::string> watch = large;
    ASSERT_TRUE(system.Ask(pool.start(), large, kSoon).ok());
    large.reset();
    EXPECT_TRUE(watch.expired()) << shards;
  }
}

TEST(ChildStart, ANullFactoryIsAnErrorOfTheTree) {
  const std::function<std::unique_ptr<Actor>()> null_function;
  std::unique_ptr<Actor> (*const null_pointer)() = nullptr;
  const absl::Status status =
      OneForOne().Child("a", Of(null_function)).Child("b", Of(null_pointer).Temporary()).Validate();
  EXPECT_EQ(status.message(),
            "2 errors in the supervision tree:\n"
            "  child 'a': start: is missing: what makes the actor? Give a start function or a registered factory\n"
            "  child 'b': start: is missing: what makes the actor? Give a start function or a registered factory");
}

TEST(ChildStart, ATreeOfAnyDepthIsDestroyed) {
  SupervisorBuilder tree = OneForOne();
  for (int depth = 0; depth < 100000; ++depth) {
    SupervisorBuilder above = OneForOne();
    above.Child("s", Of(tree));
    tree = std::move(above);
  }
  EXPECT_THAT(std::string(tree.Validate().message()), HasSubstr("the tree is more than 100 supervisors deep"));
}

}  // namespace
}  // namespace understudy

#include "understudy/examples/patterns/readers_writer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/seeds.h"

namespace understudy::patterns {
namespace {

using ::testing::ElementsAre;

// Records the order in which permits were given, and whether a writer was ever active beside another user.
struct History {
  int readers = 0;
  int readers_max = 0;
  int writers = 0;
  bool is_sound = true;
  std::vector<std::string> given;

  void Begin(bool writes, const std::string& who) {
    (writes ? writers : readers) += 1;
    readers_max = std::max(readers_max, readers);
    is_sound = is_sound && writers <= 1 && (writers == 0 || readers == 0);
    given.push_back(who);
  }
  void End(bool writes) { (writes ? writers : readers) -= 1; }
};

// Waits for `delay`, then reads or writes `times` times, for a second each time.
class User final : public Actor {
 public:
  struct Plan {
    std::string name;
    bool writes = false;
    absl::Duration delay;
    int times = 1;
  };
  User(Ref<ReadersWriter> lock, Plan plan, History* history) : lock_(lock), plan_(std::move(plan)), history_(history) {}
  StartResult Start() override { return Use(); }

 private:
  Task<> Use() {
    auto before = Receive(After(plan_.delay, [] {}));
    co_await before;
    for (int i = 0; i < plan_.times; ++i) {
      const auto door = plan_.writes ? lock_[&ReadersWriter::write] : lock_[&ReadersWriter::read];
      auto asked = door.Ask({}, absl::Hours(5));
      const absl::StatusOr<Permit> permit = co_await asked;
      if (!permit.ok()) Fail(permit.status());
      history_->Begin(plan_.writes, plan_.name);
      auto using_it = Receive(After(absl::Seconds(1), [] {}));
      co_await using_it;
      history_->End(plan_.writes);
      (plan_.writes ? lock_[&ReadersWriter::done_writing] : lock_[&ReadersWriter::done_reading]).Tell({});
    }
  }
  Ref<ReadersWriter> lock_;
  Plan plan_;
  History* history_;
};

// r1 reads from 0 s to 1 s; w1 asks at 0.1 s, r2 at 0.2 s, w2 at 0.3 s, r3 at 0.4 s.
History FiveUsers(TestSystem& system, Precedence precedence) {
  History history;
  Ref<ReadersWriter> lock = system.Spawn<ReadersWriter>(precedence);
  const auto add = [&](const char* name, int tenths) {
    system.Spawn<User>(
        lock, User::Plan{.name = name, .writes = name[0] == 'w', .delay = absl::Milliseconds(100 * tenths)}, &history);
  };
  add("r1", 0);
  add("w1", 1);
  add("r2", 2);
  add("w2", 3);
  add("r3", 4);
  system.Advance(absl::Seconds(60));
  EXPECT_TRUE(history.is_sound);
  EXPECT_EQ(history.readers + history.writers, 0);
  return history;
}

using ReadersWriterTest = ActorTest;

// SEL 12
TEST_F(ReadersWriterTest, ByArrivalNobodyOvertakes) {
  EXPECT_THAT(FiveUsers(system(), Precedence::kArrival).given, ElementsAre("r1", "w1", "r2", "w2", "r3"));
}

// SEL 12
TEST_F(ReadersWriterTest, ReadersFirstOvertakeWritersThatWait) {
  const History history = FiveUsers(system(), Precedence::kReaders);
  EXPECT_THAT(history.given, ElementsAre("r1", "r2", "r3", "w1", "w2"));
  EXPECT_EQ(history.readers_max, 3);
}

// SEL 12
TEST_F(ReadersWriterTest, WritersFirstOvertakeReadersThatWait) {
  const History history = FiveUsers(system(), Precedence::kWriters);
  ASSERT_EQ(history.given.size(), 5U);
  EXPECT_THAT(std::vector<std::string>(history.given.begin(), history.given.begin() + 3),
              ElementsAre("r1", "w1", "w2"));
  EXPECT_EQ(history.readers_max, 2) << "r2 and r3 together";
}

// SEL 12
// A small version of the concurrent dictionary of the Savina suite: 20 users, of which two write, with different seeds.
// The history shows that a writer is always alone, and that every user gets all of its permits.
TEST(ReadersWriterHistoryTest, AWriterIsAlwaysAloneAndByArrivalAllComeToTheirEnd) {
  ForEachSeed(20, [](uint64_t seed) {
    for (const Precedence precedence : {Precedence::kArrival, Precedence::kReaders, Precedence::kWriters}) {
      TestSystem system(seed);
      History history;
      Ref<ReadersWriter> lock = system.Spawn<ReadersWriter>(precedence);
      for (int i = 0; i < 20; ++i) {
        system.Spawn<User>(
            lock,
            User::Plan{.name = absl::StrCat(i), .writes = i % 10 == 0, .delay = absl::Milliseconds(7 * i), .times = 20},
            &history);
      }
      system.Advance(absl::Hours(1));
      EXPECT_TRUE(history.is_sound);
      EXPECT_EQ(history.given.size(), 20U * 20U);
      EXPECT_GT(history.readers_max, 1);
      EXPECT_EQ(system.live_actors(), 1) << "the lock";
      ExpectNothingLost(system);
    }
  });
}

}  // namespace
}  // namespace understudy::patterns

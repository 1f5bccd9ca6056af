// The time and memory needed to create a ring of very many actors. The test is a process of its own, so that no other
// test's memory is resident.
#include <cstdint>
#include <ctime>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/testing/sanitized.h"
#include "understudy/tests/bench/resident_memory.h"

namespace understudy {
namespace {

// Passes a token on until the token's count is used up.
class Member final : public Actor {
 public:
  Mailbox<"follow", Ref<Member>> follow{this};
  Mailbox<"token", int> token{this};
  Member(Ref<Member> next, absl::Notification* over) : next_(next), over_(over) {}
  StartResult Start() override { return passing_; }

 private:
  void Pass(int hops_left) {
    if (hops_left == 0) {
      over_->Notify();
    } else {
      next_[&Member::token].Tell(hops_left - 1);
    }
  }
  Ref<Member> next_;
  absl::Notification* const over_;
  Behavior passing_{"passing", On(follow, [this](Ref<Member> next) { next_ = next; }), On(token, &Member::Pass)};
};

// EBA 13
// The limit of ten seconds is on processor time, because the real time depends on the machine's load.
TEST(RingTest, OneOf310000ActorsIsMadeWithinTenSecondsAnd512MegabytesAndATokenGoesRound) {
  constexpr int kMembers = kIsSanitized ? 10'000 : 310'000;
  absl::Notification over;
  ActorSystem system;
  const int64_t bytes_before = bench::ResidentBytes();
  const std::clock_t before = std::clock();
  const Ref<Member> first = system.Spawn<Member>(Ref<Member>(), &over);
  Ref<Member> last = first;
  for (int i = 1; i < kMembers; ++i) last = system.Spawn<Member>(last, &over);
  first[&Member::follow].Tell(last);
  first[&Member::token].Tell(kMembers);  // the token's count ends at the member where it began
  ASSERT_TRUE(over.WaitForNotificationWithTimeout(absl::Minutes(2)));
  EXPECT_EQ(system.live_actors(), kMembers);
  if (kIsSanitized) return;
  EXPECT_LT((std::clock() - before) / CLOCKS_PER_SEC, 10);
  EXPECT_LT(bench::ResidentBytes() - bytes_before, int64_t{512} << 20);
}

}  // namespace
}  // namespace understudy

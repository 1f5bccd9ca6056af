// Looks at actors that are queued, or in the kernel's code, while they change.
#include <atomic>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_info.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/inspection.h"
#include "understudy/actors/log_sink.h"
#include "understudy/actors/pid.h"

namespace understudy {
namespace {

using ::testing::StartsWith;

constexpr absl::Duration kWithin = absl::Seconds(30);

// Becomes another behavior with each message, and destroys the one before.
class Chameleon final : public Actor {
 public:
  Mailbox<"change", int> change{this};
  StartResult Start() override { return Colored(0); }

 private:
  Behavior Colored(int number) {
    return Behavior(absl::StrCat("color ", number % 10), On(change, [this, number](int last) {
                      Become(Colored(number + 1));
                      if (number < last) Ref<Chameleon>(context().Self())[&Chameleon::change].Tell(last);
                    }));
  }
};

TEST(QueuedLookTest, LooksAtActorsThatBecomeAndEndReadNothingThatIsDestroyed) {
  ActorSystem system({.threads = {.threads = 2}, .log = &LogSink::Null()});
  std::atomic<bool> is_over = false;
  std::atomic<int> queued = 0;  // actors that were seen so
  std::thread looker([&] {
    while (!is_over.load()) {
      for (const ActorInfo& actor : ListActors(system, {.text = "Chameleon"}).actors) {
        if (actor.behavior.empty()) continue;
        EXPECT_THAT(actor.behavior, StartsWith("color "));
        if (!actor.is_complete) queued.fetch_add(1);
      }
    }
  });
  const MonotonicTime begun = system.clock().Now();
  for (int life = 0; life < 50 || (queued.load() == 0 && system.clock().Now() - begun < kWithin); ++life) {
    std::vector<Pid> pids;
    for (int i = 0; i < 4; ++i) {
      const Ref<Chameleon> chameleon = system.Spawn<Chameleon>();
      chameleon[&Chameleon::change].Tell(1000);
      pids.push_back(chameleon.pid());
    }
    for (const Pid pid : pids) {
      ASSERT_TRUE(system.AwaitStart(pid, kWithin).ok());
      system.Exit(pid, ExitReason::Shutdown());
    }
    for (const Pid pid : pids) ASSERT_TRUE(system.AwaitEnd(pid, kWithin).ok());
  }
  is_over.store(true);
  looker.join();
  EXPECT_GT(queued.load(), 0);
}

}  // namespace
}  // namespace understudy

// What other nodes see of a supervised child's name while the child is down. The supervisor is on "house".
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/test_system.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/sim/node_children_fixture.h"
#include "understudy/tests/supervision/workers.h"
#include "understudy/transport/child_host.h"

namespace understudy {
namespace {

class VacantNameTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override { ASSERT_TRUE(house_.Open()); }

  Registry& RegistryOf(absl::string_view node) { return house_.cluster().system(node).registry(); }
  bool HasOwner(absl::string_view node) { return RegistryOf(node).Find("clerk").has_value(); }
  absl::Status Reached(absl::string_view node) { return NoOwnerError(RegistryOf(node), "clerk"); }
  bool IsVacant(absl::string_view node) { return !HasOwner(node) && IsRestarting(Reached(node)); }
  bool IsFree(absl::string_view node) { return !HasOwner(node) && IsNoName(Reached(node)); }

  ChildBuilder Clerk(ChildBuilder child) {
    return std::move(child).PublishedAs("clerk").Backoff({.min = absl::Seconds(20), .jitter = 0});
  }
  SupervisorRef SpawnLocal() {
    const SupervisorRef root =
        house_.Spawn(OneForOne().Child("a", Clerk(Of<Worker>("a", journal_, house_.ManOf("a")))));
    EXPECT_TRUE(HasOwner("worker-1"));
    return root;
  }
  // Crashes the child "a". It cannot start again until Repair is called.
  void Crash() {
    house_.ManOf("a")->start_fails = absl::UnavailableError("the disk is full");
    Ref<Worker>(*house_.cluster().system("house").WhereIs("clerk"))[&Worker::crash].Tell(understudy::Crash());
  }

  void Repair() { house_.ManOf("a")->start_fails = absl::OkStatus(); }

  RemoteHouse house_{GetParam()};
  std::shared_ptr<Journal> journal_ = std::make_shared<Journal>();
};

INSTANTIATE_TEST_SUITE_P(Seeds, VacantNameTest, ::testing::Range<uint64_t>(1, 6));

TEST_P(VacantNameTest, PeersNeverSeeTheNameFreeUntilTheChildIsUpAgain) {
  SpawnLocal();
  Crash();
  int vacant = 0;
  for (int i = 0; i < 25'000; ++i) {
    house_.Run(absl::Milliseconds(1));
    if (i == 1000) Repair();
    for (const char* node : {"house", "worker-1", "worker-2"}) {
      ASSERT_FALSE(IsFree(node)) << node << " after " << i << " ms";
      vacant += IsVacant(node) ? 1 : 0;
    }
  }
  EXPECT_GT(vacant, 50'000);
  EXPECT_TRUE(HasOwner("house") && HasOwner("worker-1") && HasOwner("worker-2"));
}

TEST_P(VacantNameTest, AVacancyGoesWithTheSpecification) {
  const SupervisorRef root = SpawnLocal();
  Crash();
  house_.Run(absl::Seconds(1));
  EXPECT_TRUE(IsVacant("worker-1"));
  EXPECT_TRUE(house_.cluster().system("house").Ask(root.terminate_child(), TerminateChild{"a"}, absl::Seconds(1)).ok());
  house_.Run();
  EXPECT_TRUE(IsFree("house") && IsFree("worker-1") && IsFree("worker-2"));
}

TEST_P(VacantNameTest, AVacancyGoesWithTheSessionAndComesBackWithIt) {
  SpawnLocal();
  Crash();
  house_.network().Partition("house", "worker-1");
  house_.Run(absl::Seconds(15));
  EXPECT_TRUE(IsFree("worker-1"));
  EXPECT_TRUE(IsVacant("house") && IsVacant("worker-2"));
  house_.network().Heal("house", "worker-1");
  house_.Run(absl::Seconds(15));
  EXPECT_TRUE(IsVacant("worker-1"));
  Repair();
  house_.Run(absl::Minutes(2));
  EXPECT_TRUE(HasOwner("worker-1"));
}

TEST_P(VacantNameTest, AnOwnerOnAnotherNodeWinsAndTheChildIsParked) {
  const SupervisorRef root = SpawnLocal();
  Crash();
  house_.Run(absl::Seconds(1));
  Repair();
  SpawnOptions rival;
  rival.published_as = "clerk";
  const auto owner = house_.cluster().system("worker-1").Spawn<Worker>(rival, "rival", journal_);
  house_.Run(absl::Seconds(1));
  EXPECT_TRUE(HasOwner("house") && HasOwner("worker-1") && HasOwner("worker-2"));
  house_.Run(absl::Seconds(25));
  EXPECT_EQ(house_.StatesOf(root), "a parked");
  owner[&Worker::end].Tell(End{ExitReason::Normal()});
  house_.Run(absl::Seconds(15));
  EXPECT_EQ(house_.StatesOf(root), "a running on house");
  EXPECT_TRUE(HasOwner("worker-1"));
}

TEST_P(VacantNameTest, TheSupervisorsNodeKeepsTheNameOfAChildWhoseNodeIsLost) {
  house_.Spawn(
      OneForOne().Child("a", Clerk(Remote(OnNode("worker-1"), "worker", Text("a")).ConnectWithin(absl::Seconds(1)))));
  EXPECT_TRUE(HasOwner("house") && HasOwner("worker-2"));
  house_.cluster().Crash("worker-1");
  for (int i = 0; i < 10'000; ++i) {
    house_.Run(absl::Milliseconds(1));
    ASSERT_FALSE(IsFree("house")) << i;
    ASSERT_FALSE(IsFree("worker-2")) << i;
  }
  EXPECT_TRUE(IsVacant("house") && IsVacant("worker-2"));
  house_.cluster().Start("worker-1");
  house_.Host("worker-1");
  house_.Run(absl::Minutes(1));
  EXPECT_TRUE(HasOwner("house") && HasOwner("worker-2"));
}

}  // namespace
}  // namespace understudy

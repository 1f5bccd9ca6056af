#include "understudy/actors/internal/scheduling/cgroup.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"

namespace understudy::internal {
namespace {

class CpuQuotaTest : public ::testing::Test {
 protected:
  CpuQuotaTest() {
    mkdir(root_.c_str(), 0700);
    for (const char* folder : {"/pod", "/pod/box", "/cpu", "/cpu/pod"}) mkdir((root_ + folder).c_str(), 0700);
  }
  void Write(absl::string_view file, absl::string_view text) { std::ofstream(root_ + std::string(file)) << text; }
  absl::optional<int> Quota() { return CpuQuota(root_ + "/membership", root_); }

  const std::string root_ =
      ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(CpuQuotaTest, ThereIsNoneWithoutGroupsOrBounds) {
  EXPECT_EQ(Quota(), absl::nullopt);
  Write("/membership", "0::/pod\n1:cpu:/pod\n");
  EXPECT_EQ(Quota(), absl::nullopt);
  Write("/pod/cpu.max", "max 100000\n");
  Write("/cpu/pod/cpu.cfs_quota_us", "-1\n");
  Write("/cpu/pod/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), absl::nullopt);
}

TEST_F(CpuQuotaTest, AQuotaOfVersionTwoIsRoundedUp) {
  Write("/membership", "0::/pod/box\n");
  Write("/pod/box/cpu.max", "150000 100000\n");
  EXPECT_EQ(Quota(), 2);
  Write("/pod/box/cpu.max", "10000 100000\n");
  EXPECT_EQ(Quota(), 1);
}

TEST_F(CpuQuotaTest, TheLeastOfTheGroupsAroundItCounts) {
  Write("/membership", "0::/pod/box\n");
  Write("/pod/box/cpu.max", "400000 100000\n");
  Write("/pod/cpu.max", "300000 100000\n");
  EXPECT_EQ(Quota(), 3);
}

TEST_F(CpuQuotaTest, InAContainerThePathMayBeTheHosts) {
  Write("/membership", "0::/kubepods/elsewhere\n");
  Write("/cpu.max", "200000 100000\n");
  EXPECT_EQ(Quota(), 2);
}

TEST_F(CpuQuotaTest, AQuotaOfVersionOneIsReadToo) {
  Write("/membership", "3:memory:/pod\n2:cpu,cpuacct:/pod\n");
  Write("/cpu/pod/cpu.cfs_quota_us", "250000\n");
  Write("/cpu/pod/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), 3);
}

}  // namespace
}  // namespace understudy::internal

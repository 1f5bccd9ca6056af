#include "understudy/examples/auction/temp_folder.h"

#include <filesystem>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/examples/auction/input_files.h"

namespace auction {
namespace {

TEST(TempFolderTest, ItGoesWithAllThatIsInIt) {
  std::string path;
  {
    absl::StatusOr<TempFolder> made = TempFolder::Make("auction-test");
    ASSERT_TRUE(made.ok()) << made.status();
    const TempFolder folder = *std::move(made);
    path = folder.path();
    ASSERT_TRUE(WriteFile(folder.File("a"), "text").ok());
    std::filesystem::create_directories(folder.File("b/c"));
    EXPECT_EQ(*ReadFile(folder.File("a")), "text");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TempFolderTest, AFileThatCannotBeWrittenIsAnErrorWithItsPath) {
  EXPECT_THAT(std::string(WriteFile("/nonexistent/a", "text").message()), ::testing::HasSubstr("/nonexistent/a"));
}

}  // namespace
}  // namespace auction

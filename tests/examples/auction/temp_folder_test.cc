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

TEST(ReplaceFileTest, AFileIsReplacedWholeOrKept) {
  const TempFolder folder = *TempFolder::Make("auction-test");
  ASSERT_TRUE(CanReplaceFile(folder.File("a")).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  ASSERT_TRUE(ReplaceFile(folder.File("a"), "first").ok());
  std::filesystem::create_symlink(folder.File("a"), folder.File("link"));
  ASSERT_TRUE(CanReplaceFile(folder.File("link")).ok());
  EXPECT_EQ(*ReadFile(folder.File("a")), "first");
  ASSERT_TRUE(ReplaceFile(folder.File("link"), "second").ok());
  EXPECT_EQ(*ReadFile(folder.File("a")), "second");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.File("link")));
  EXPECT_TRUE(ReplaceFile("/dev/null", "third").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_FALSE(CanReplaceFile("/nonexistent/a").ok());
  EXPECT_FALSE(ReplaceFile("/nonexistent/a", "").ok());
  EXPECT_FALSE(CanReplaceFile(folder.path()).ok());
}

}  // namespace
}  // namespace auction

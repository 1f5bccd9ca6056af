// FileJournal: what a process that is killed while it writes leaves behind.
#include "understudy/examples/shop/journal.h"

#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shop {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FileJournalTest : public ::testing::Test {
 protected:
  FileJournalTest() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~FileJournalTest() override { std::filesystem::remove_all(folder_); }
  std::string PathOf(const std::string& key) const { return folder_ + "/" + key; }

  std::string folder_ = "/tmp/understudy.XXXXXX";
};

TEST_F(FileJournalTest, ARecordThatIsNotWholeIsLeftOutAndTheNextOneIsKept) {
  constexpr size_t kRecordBytes = sizeof(uint32_t) + 6;
  for (size_t cut = 1; cut < kRecordBytes; ++cut) {
    const std::string key = "order-" + std::to_string(cut);
    {
      FileJournal killed(folder_);
      ASSERT_TRUE(killed.Append(key, "first").ok());
      ASSERT_TRUE(killed.Append(key, "second").ok());
    }
    std::filesystem::resize_file(PathOf(key), std::filesystem::file_size(PathOf(key)) - cut);
    FileJournal journal(folder_);
    EXPECT_THAT(journal.Read(key).value(), ElementsAre("first")) << cut;
    ASSERT_TRUE(journal.Append(key, "third").ok());
    ASSERT_TRUE(journal.Append(key, "fourth").ok());
    EXPECT_THAT(journal.Read(key).value(), ElementsAre("first", "third", "fourth")) << cut;
  }
}

TEST_F(FileJournalTest, WhatIsNoRecordIsDataLoss) {
  std::ofstream(PathOf("order-1")) << std::string(100, '\0');
  FileJournal journal(folder_);
  const absl::Status read = journal.Read("order-1").status();
  EXPECT_TRUE(absl::IsDataLoss(read)) << read;
  EXPECT_THAT(std::string(read.message()), HasSubstr("/order-1 has no record at byte 0"));
  EXPECT_TRUE(absl::IsDataLoss(journal.Append("order-1", "a")));
}

}  // namespace
}  // namespace shop

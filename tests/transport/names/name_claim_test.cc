// The names that a node refuses to publish.
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/names.pb.h"
#include "understudy/tests/transport/names/name_net.h"
#include "understudy/transport/names/name_table.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(NameClaimTest, ANameThatAPeerOwnsIsRefusedWithItsOwnerAndToldToNobody) {
  NameNet net(2);
  net.Join(0, 1);
  ASSERT_TRUE(net.Claim(1, "lot", 1).ok());
  net.DeliverAll();
  const absl::Status status = net.Claim(0, "lot", 2);
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("node b"));
  EXPECT_FALSE(net.Owns(0, "lot"));
  EXPECT_THAT(net.Ready(), IsEmpty());
}

TEST(NameClaimTest, TheNamesOfANodeAreBounded) {
  NameTable table("a", [](absl::string_view, absl::string_view) { return true; });
  const auto claim = [&](size_t i) {
    const absl::Status claimed = table.Claim(absl::StrCat("lot ", i), Pid(1, 1, i + 1), NameNet::At(100), {});
    if (i % 1000 == 0) table.TakeChanges();
    return claimed;
  };
  for (size_t i = 0; i < limits::kNamesPerNodeMax; ++i) ASSERT_TRUE(claim(i).ok()) << i;
  EXPECT_TRUE(absl::IsResourceExhausted(claim(limits::kNamesPerNodeMax)));
  ASSERT_TRUE(table.Release("lot 7", Pid(1, 1, 8)));
  EXPECT_TRUE(claim(limits::kNamesPerNodeMax).ok());
}

TEST(NameClaimTest, TheDifferentSetsOfMailboxesThatANodePublishesAreBoundedInBytes) {
  NameTable table("a", [](absl::string_view, absl::string_view) { return true; });
  const auto claim = [&](size_t set, absl::string_view name) {
    std::vector<proto::MailboxSignature> mailboxes(64);
    for (size_t i = 0; i < mailboxes.size(); ++i) {
      mailboxes[i].set_name(absl::StrCat("mailbox ", i, " of set ", set, std::string(1000, 'm')));
    }
    return table.Claim(name, Pid(1, 1, ++set), NameNet::At(100), mailboxes);
  };
  size_t sets = 0;
  absl::Status claimed;
  while (sets < 1000 && (claimed = claim(sets, absl::StrCat("lot ", sets))).ok()) ++sets;
  EXPECT_TRUE(absl::IsResourceExhausted(claimed)) << claimed;
  EXPECT_EQ(table.Find(absl::StrCat("lot ", sets)), absl::nullopt);
  EXPECT_TRUE(claim(0, "a second one of that kind").ok());
}

}  // namespace
}  // namespace understudy

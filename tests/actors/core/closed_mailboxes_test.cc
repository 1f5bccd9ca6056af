#include "understudy/actors/internal/turn/closed_mailboxes.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace understudy::internal {
namespace {

TEST(ClosedMailboxesTest, AMailboxIsOpenAgainWhenEachCloseIsTakenBack) {
  ClosedMailboxes closed;
  EXPECT_EQ(closed.mask(), 0U);
  closed.Close(3);
  closed.Close(3);
  closed.Close(0);
  EXPECT_EQ(closed.mask(), 0b1001U);
  closed.Reopen(3);
  EXPECT_EQ(closed.mask(), 0b1001U);
  closed.Reopen(3);
  EXPECT_EQ(closed.mask(), 0b0001U);
  closed.Reopen(0);
  EXPECT_EQ(closed.mask(), 0U);
}

TEST(ClosedMailboxesTest, TheLastMailboxThatAnActorMayHaveIsClosedToo) {
  ClosedMailboxes closed;
  closed.Close(63);
  EXPECT_EQ(closed.mask(), uint64_t{1} << 63);
}

}  // namespace
}  // namespace understudy::internal

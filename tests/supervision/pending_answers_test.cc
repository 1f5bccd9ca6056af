#include "understudy/supervision/internal/pending_answers.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {
namespace {

TEST(PendingAnswers, EachRequestIsAnsweredOnceWithItsOwnOutcome) {
  PendingAnswers answers;
  std::vector<absl::StatusOr<Pid>> got;
  const auto keep = [&got](absl::StatusOr<Pid> pid) { got.push_back(std::move(pid)); };
  const PendingAnswers::RequestId first = answers.Add(keep);
  const PendingAnswers::RequestId second = answers.Add(keep);
  EXPECT_NE(first, second);
  EXPECT_NE(first, 0U) << "0 is no request";
  answers.Answer({.request = second, .status = absl::NotFoundError("x")});
  answers.Answer({.request = first, .pid = Pid(1, 1, 1)});
  answers.Answer({.request = first, .pid = Pid(1, 1, 2)});
  ASSERT_EQ(got.size(), 2U);
  EXPECT_TRUE(absl::IsNotFound(got[0].status()));
  EXPECT_EQ(*got[1], Pid(1, 1, 1));
}

}  // namespace
}  // namespace understudy::internal

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
  std::vector<absl::StatusOr<Pid>> of_first;
  std::vector<absl::StatusOr<Pid>> of_second;
  const auto first = answers.Add([&](absl::StatusOr<Pid> pid) { of_first.push_back(std::move(pid)); });
  const auto second = answers.Add([&](absl::StatusOr<Pid> pid) { of_second.push_back(std::move(pid)); });
  EXPECT_NE(first, 0U) << "0 is no request";
  answers.Answer({.request = second, .status = absl::NotFoundError("x")});
  answers.Answer({.request = first, .pid = Pid(1, 1, 1)});
  answers.Answer({.request = first, .pid = Pid(1, 1, 2)});
  ASSERT_EQ(of_first.size(), 1U);
  ASSERT_TRUE(of_first[0].ok());
  EXPECT_EQ(*of_first[0], Pid(1, 1, 1));
  ASSERT_EQ(of_second.size(), 1U);
  EXPECT_TRUE(absl::IsNotFound(of_second[0].status()));
}

}  // namespace
}  // namespace understudy::internal

#include "understudy/supervision/internal/waiting_inputs.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"

namespace understudy {
namespace {

WaitingInput Terminate(const std::string& id) { return {.kind = WaitingInput::Kind::kTerminate, .id = id}; }

// Returns the ids that Pop returns until the queue is empty, such as "abc".
std::string PopAll(WaitingInputs& inputs) {
  std::string ids;
  while (absl::optional<WaitingInput> input = inputs.Pop()) absl::StrAppend(&ids, input->id);
  return ids;
}

TEST(WaitingInputs, TheOldestIsNext) {
  WaitingInputs inputs;
  EXPECT_FALSE(inputs.has_next());
  EXPECT_FALSE(inputs.Pop().has_value());
  for (const char* id : {"a", "b", "c"}) inputs.Push(Terminate(id));
  EXPECT_EQ(inputs.size(), 3U);
  EXPECT_EQ(PopAll(inputs), "abc");
}

TEST(WaitingInputs, DeferredInputsWaitForTheirChildAndAreThenTheNext) {
  WaitingInputs inputs;
  inputs.Defer(7, Terminate("a"));
  inputs.Defer(8, Terminate("x"));
  inputs.Defer(7, Terminate("b"));
  EXPECT_FALSE(inputs.has_next());
  EXPECT_EQ(inputs.size(), 3U) << "deferred inputs also count against the limit";
  inputs.Push(Terminate("c"));
  inputs.Settled(7);
  EXPECT_EQ(inputs.size(), 4U);
  EXPECT_EQ(PopAll(inputs), "abc");
  EXPECT_EQ(inputs.size(), 1U);
  inputs.Settled(7);
  EXPECT_FALSE(inputs.has_next()) << "no input waits for that child";
  inputs.Settled(8);
  EXPECT_EQ(PopAll(inputs), "x");
}

TEST(WaitingInputs, TakeAllGivesDeferredInputsToo) {
  WaitingInputs inputs;
  inputs.Defer(8, Terminate("d"));
  inputs.Defer(7, Terminate("c"));
  inputs.Push(Terminate("a"));
  inputs.Push(Terminate("b"));
  std::string ids;
  for (const WaitingInput& input : inputs.TakeAll()) absl::StrAppend(&ids, input.id);
  EXPECT_EQ(ids, "abcd");
  EXPECT_EQ(inputs.size(), 0U);
  inputs.Settled(7);
  EXPECT_FALSE(inputs.has_next());
}

}  // namespace
}  // namespace understudy

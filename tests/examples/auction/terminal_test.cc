// Tests that the demo's page has colours only in a terminal, and in the right places.
#include "understudy/examples/auction/terminal.h"

#include "gtest/gtest.h"

namespace auction {
namespace {

TEST(TerminalTest, OnlyATerminalWithoutNoColorTakesColour) {
  EXPECT_TRUE(TakesColour(/*is_terminal=*/true, nullptr));
  EXPECT_TRUE(TakesColour(/*is_terminal=*/true, ""));
  EXPECT_FALSE(TakesColour(/*is_terminal=*/true, "1"));
  EXPECT_FALSE(TakesColour(/*is_terminal=*/false, nullptr));
}

TEST(TerminalTest, HeadingsAndVerdictsOfAPageAreColoured) {
  EXPECT_EQ(Coloured("\nChecks\n  ok      prices: right\n  FAILED  sums: off\n\nFAILED.\n"),
            "\n\033[1mChecks\033[m\n\033[32m  ok \033[m     prices: right\n\033[31m  FAILED \033[m sums: off\n"
            "\n\033[31mFAILED.\033[m\n");
  EXPECT_EQ(Coloured("\nAll holds.\n"), "\n\033[32mAll holds.\033[m\n");
}

}  // namespace
}  // namespace auction

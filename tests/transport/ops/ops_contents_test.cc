// Tests of how an operator sees the contents of a message.
#include "understudy/transport/ops/ops_contents.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/tests/transport/ops/secret.pb.h"
#include "understudy/transport/ops/ops_limits.h"

namespace understudy::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

test::Secret Named(const std::string& name) {
  test::Secret secret;
  secret.set_name(name);
  secret.set_password("hunter2");
  return secret;
}
std::string Shown(const test::Secret& secret) {
  return ShownContents("understudy.test.Secret", secret.SerializeAsString());
}

TEST(OpsContentsTest, RedactedFieldsAreLeftOutWhereverTheyAre) {
  test::Secret secret = Named("a");
  *secret.mutable_inner() = Named("b");
  *secret.add_list() = Named("c");
  (*secret.mutable_by_name())["key"] = Named("d");
  *secret.mutable_hidden() = Named("e");
  const std::string text = Shown(secret);
  EXPECT_THAT(text, AllOf(HasSubstr("name: \"a\""), HasSubstr("name: \"b\""), HasSubstr("name: \"c\""),
                          HasSubstr("name: \"d\"")));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("hunter2")), Not(HasSubstr("password")), Not(HasSubstr("hidden"))));
}

TEST(OpsContentsTest, UnknownFieldsAndTheValuesOfAnyAreLeftOut) {
  test::Secret secret = Named("a");
  secret.mutable_any()->PackFrom(Named("packed"));
  EXPECT_THAT(Shown(secret), AllOf(HasSubstr("type_url"), Not(HasSubstr("packed")), Not(HasSubstr("hunter2"))));
  const std::string outline = ShownContents("understudy.test.Outline", secret.SerializeAsString());
  EXPECT_EQ(outline, "name: \"a\"");
}

TEST(OpsContentsTest, ATextIsBoundedAndPrintable) {
  const std::string text = Shown(Named(std::string(100'000, 'x')));
  EXPECT_LE(text.size(), limits::kOpsContentsBytesMax);
  EXPECT_THAT(text, HasSubstr("cut"));
  EXPECT_THAT(Shown(Named("\x1b[2J\u202e")), AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\u202e"))));
}

TEST(OpsContentsTest, WhatIsNotAKnownMessageIsNotShown) {
  EXPECT_EQ(ShownContents("no.such.Type", "abc"), "");
  EXPECT_EQ(ShownContents("understudy.test.Secret", "\xff\xff"), "");
}

}  // namespace
}  // namespace understudy::internal

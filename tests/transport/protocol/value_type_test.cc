#include "understudy/transport/protocol/value_type.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace understudy::actor_protocol {
namespace {

using testing::HasSubstr;

std::string Reading(const std::string& writer, const std::string& reader) {
  return ReadingOf(ParseValueType(writer), ParseValueType(reader));
}

TEST(ValueTypeTest, AValueThatTheReaderCanHoldArrivesAsItWas) {
  EXPECT_EQ(Reading("int32", "int64"), "");
  EXPECT_EQ(Reading("uint32", "int64"), "");
  EXPECT_EQ(Reading("bool", "uint32"), "");
  EXPECT_EQ(Reading("enum E", "int32"), "");
  EXPECT_EQ(Reading("int32", "enum E"), "");
  EXPECT_EQ(Reading("sint32", "sint64"), "");
  EXPECT_EQ(Reading("string", "bytes"), "");
  EXPECT_EQ(Reading("message M", "message M"), "");
}

TEST(ValueTypeTest, AValueThatTheReaderCannotHoldArrivesAsAnotherOne) {
  EXPECT_EQ(Reading("int64", "int32"), "a value that int32 cannot hold arrives as another one");
  for (const auto& [writer, reader] :
       {std::pair("int32", "uint64"), std::pair("uint64", "int64"), std::pair("int32", "bool"),
        std::pair("fixed32", "sfixed32"), std::pair("sint64", "sint32"), std::pair("int64", "enum E")}) {
    EXPECT_THAT(Reading(writer, reader), HasSubstr("cannot hold")) << writer << " " << reader;
  }
}

TEST(ValueTypeTest, OtherBytesAreNotReadOrReadAsAnotherValue) {
  EXPECT_THAT(Reading("int32", "fixed32"), HasSubstr("wire type differs"));
  EXPECT_THAT(Reading("message M", "group M"), HasSubstr("wire type differs"));
  EXPECT_THAT(Reading("float", "double"), HasSubstr("wire type differs"));
  ValueType sixty_four = ParseValueType("fixed64");
  ValueType varint = ParseValueType("int64");
  sixty_four.is_repeated = varint.is_repeated = true;
  EXPECT_THAT(ReadingOf(varint, sixty_four), HasSubstr("packed values are read as others"));
  EXPECT_EQ(Reading("int32", "sint32"), "the bytes are read as another value");
  EXPECT_EQ(Reading("float", "fixed32"), "the bytes are read as another value");
  EXPECT_EQ(Reading("message M", "bytes"), "the bytes are read as another value");
  EXPECT_EQ(Reading("message M", "message N"), "the bytes are read as another message");
  EXPECT_EQ(Reading("enum E", "enum F"), "the number is read as a value of another enum");
  EXPECT_THAT(Reading("bytes", "string"), HasSubstr("not UTF-8"));
}

TEST(ValueTypeTest, AClosedEnumDropsNumbersThatItDoesNotHave) {
  ValueType closed = ParseValueType("enum E");
  closed.is_closed = true;
  EXPECT_EQ(ReadingOf(ParseValueType("int32"), closed), "a number that the enum does not have arrives as unset");
  EXPECT_EQ(ReadingOf(closed, ParseValueType("int32")), "");
}

}  // namespace
}  // namespace understudy::actor_protocol

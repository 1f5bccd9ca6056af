#include "understudy/actors/printable_text.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace understudy {
namespace {

TEST(PrintableTextTest, TextIsKeptAndOtherBytesAreEscaped) {
  EXPECT_EQ(PrintableText("größe 5 €, 😀"), "größe 5 €, 😀");
  EXPECT_EQ(PrintableText("a\nb\\c\x7f"), "a\\nb\\\\c\\x7f");
  EXPECT_EQ(PrintableText("a\nb\\c", Backslashes::kKeep), "a\\nb\\c");
  EXPECT_EQ(PrintableText(absl::string_view("\0\t", 2)), "\\x00\\x09");
}

TEST(PrintableTextTest, BytesThatAreNotUtf8AreEscaped) {
  EXPECT_EQ(PrintableText("\xff\xc0\x80\xe2\x82"), "\\xff\\xc0\\x80\\xe2\\x82");
  EXPECT_EQ(PrintableText("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf") << "an overlong form";
  EXPECT_EQ(PrintableText("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(PrintableText("\xf0\x8f\xbf\xbf"), "\\xf0\\x8f\\xbf\\xbf") << "an overlong form";
  EXPECT_EQ(PrintableText("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "above U+10FFFF";
  EXPECT_EQ(PrintableText("\xe2\x82"
                          "a"),
            "\\xe2\\x82a");
}

TEST(PrintableTextTest, WhatSteersATerminalIsEscaped) {
  EXPECT_EQ(PrintableText("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(PrintableText("\u009b2J"), "\\xc2\\x9b2J") << "the C1 form of the same";
  EXPECT_EQ(PrintableText("\u202egpj.exe"), "\\xe2\\x80\\xaegpj.exe") << "right to left from here";
  EXPECT_EQ(PrintableText("\u2066\u200f"), "\\xe2\\x81\\xa6\\xe2\\x80\\x8f");
  EXPECT_EQ(PrintableText("a\u2028b"), "a\\xe2\\x80\\xa8b") << "a line separator";
}

TEST(PrintableTextTest, ThePrintableFormStandsForOneText) {
  for (const absl::string_view text : {"plain", "a\\nb", "a\nb", "\\", "\\x41", "\xff\xfe", "\x1b[2J", "größe"}) {
    EXPECT_EQ(TextFromPrintable(PrintableText(text)), text);
  }
  EXPECT_EQ(TextFromPrintable("C:\\dir\\x4"), "C:\\dir\\x4") << "no escapes";
}

}  // namespace
}  // namespace understudy

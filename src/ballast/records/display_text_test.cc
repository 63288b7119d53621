#include "ballast/records/display_text.h"

#include <gtest/gtest.h>

namespace ballast::records {
namespace {

TEST(DisplayText, CountsColumnsAndNotBytes) {
  EXPECT_EQ(display_width("GM"), 2u);
  EXPECT_EQ(display_width("\xCF\x89-GM"), 4u);               // omega
  EXPECT_EQ(display_width("e\xCC\x81"), 1u);                 // e and a combining accent
  EXPECT_EQ(display_width("\xE9\x87\x8D\xE9\x87\x8F"), 4u);  // two ideographs
}

TEST(DisplayText, PadsToColumns) {
  EXPECT_EQ(pad_right("\xCF\x89", 3), "\xCF\x89  ");
  EXPECT_EQ(pad_left("\xCF\x89", 3), "  \xCF\x89");
  EXPECT_EQ(pad_left("long", 3), "long");
}

TEST(DisplayText, ShowsNothingThatSteersATerminal) {
  EXPECT_EQ(printable("\xCF\x89 ok"), "\xCF\x89 ok");
  EXPECT_EQ(printable("a\x1B[2Jb\nc"), "a?[2Jb?c");
  EXPECT_EQ(printable("\xC2\x9B"), "?");      // the one-character form of escape [
  EXPECT_EQ(printable("\xE2\x80\xAE"), "?");  // right-to-left override
}

TEST(DisplayText, MarksBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("a\xFFz"), "a?z");
  EXPECT_EQ(printable("\xCF"), "?");                 // cut off
  EXPECT_EQ(printable("\xC0\xAF"), "??");            // longer than need be
  EXPECT_EQ(printable("\xED\xA0\x80"), "???");       // half of a surrogate pair
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "????");  // beyond the last character
}

}  // namespace
}  // namespace ballast::records

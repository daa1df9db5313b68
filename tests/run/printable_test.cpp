#include "run/printable.h"

#include <gtest/gtest.h>

namespace lockstep::run {
namespace {

TEST(Printable, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("a\x1b[31mred\r\x7f"), "a\\x1b[31mred\\x0d\\x7f");
  EXPECT_EQ(printable("one\ttwo\n"), "one\ttwo\n");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\\x9b31m");  // CSI in one character
  EXPECT_EQ(printable("Bäume … \xC2\xA0"), "Bäume … \xC2\xA0");
  EXPECT_EQ(printable("\xC2"), "\xC2");
}

TEST(Shortened, OnlyTheMiddleOfALongMessageIsLeftOut) {
  const std::string fits(2000, 'x');
  EXPECT_EQ(shortened(fits), fits);
  std::string lines = "t.json: ";
  for (int i = 0; i < 9999; ++i) lines += "ä";
  const std::string short_one = shortened(lines + "; fix: record it again");
  EXPECT_LT(short_one.size(), 2100u);
  EXPECT_TRUE(short_one.starts_with("t.json: ää"));
  EXPECT_TRUE(short_one.ends_with("ää; fix: record it again"));
  EXPECT_NE(short_one.find("ä … ä"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::run

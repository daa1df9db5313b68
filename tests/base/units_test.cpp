#include "base/units.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace lockstep {
namespace {

TEST(Units, HaveThreeDigits) {
  EXPECT_EQ(human_bytes(46'758'048), "46.8 MB");
  EXPECT_EQ(human_bytes(1'000), "1.00 kB");
  EXPECT_EQ(human_bytes(123'400'000'000), "123 GB");
  EXPECT_EQ(human_time(1'234'567), "1.23 ms");
  EXPECT_EQ(human_time(9'999), "10.0 µs");
  EXPECT_EQ(human_time(5), "5.00 ns");
}

TEST(Units, SmallNumbersAreExact) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_time(0), "0");
}

TEST(Units, RoundingUpChoosesTheNextUnit) {
  EXPECT_EQ(human_bytes(999'499), "999 kB");
  EXPECT_EQ(human_bytes(999'950), "1.00 MB");
  EXPECT_EQ(human_time(999'600'000), "1.00 s");
}

TEST(Units, TheLargestUnitIsNotLeft) {
  EXPECT_EQ(human_bytes(12'345'000'000'000'000), "12345 TB");
  EXPECT_EQ(human_time(12'345'000'000'000), "12345 s");
}

TEST(Units, KeepTheSign) {
  EXPECT_EQ(human_bytes(-999), "-999 B");
  EXPECT_EQ(human_bytes(-46'758'048), "-46.8 MB");
  EXPECT_EQ(human_bytes(INT64_MIN), "-9223372 TB");
  EXPECT_EQ(human_time(-1'234'567), "-1.23 ms");
}

TEST(Units, SharesAndSeconds) {
  EXPECT_EQ(percent(0.123), "12 %");
  EXPECT_EQ(percent(1), "100 %");
  EXPECT_DOUBLE_EQ(seconds(1'500'000'000), 1.5);
}

}  // namespace
}  // namespace lockstep

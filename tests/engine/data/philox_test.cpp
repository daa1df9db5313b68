#include "engine/tensor/philox.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/engine/data/golden.h"

namespace lockstep {
namespace {

using Words = std::array<uint32_t, 4>;

// Random123's kat_vectors, "philox4x32 10".
TEST(Philox, GivesThePublishedKnownAnswers) {
  EXPECT_EQ(Philox{0}.block(0, 0),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox{~0ull}.block(~0ull, ~0ull),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox{0x299f31d0a4093822}.block(0x85a308d3243f6a88, 0x0370734413198a2e),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, DrawsWhatPythonDraws) {
  const uint64_t stream = fnv1a64("draws");
  for (const auto& golden : data::golden().at("draws")) {
    const Philox philox{golden.at("seed")};
    for (uint64_t i = 0; i < 8; ++i) {
      EXPECT_EQ(philox.uniform(i, stream), golden.at("uniform")[i].get<double>()) << i;
      EXPECT_NEAR(philox.normal(i, stream), golden.at("normal")[i], 1e-15) << i;
    }
  }
}

TEST(Philox, NormalNumbersHaveMeanZeroAndVarianceOne) {
  const Philox philox{1};
  constexpr int kCount = 100'000;
  double sum = 0, squares = 0;
  for (uint64_t i = 0; i < kCount; ++i) {
    const double x = philox.normal(i, 5);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(squares / kCount, 1, 0.015);
}

}  // namespace
}  // namespace lockstep

#include "base/hash.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

// Test vectors of http://www.isthe.com/chongo/tech/comp/fnv/.
TEST(Hash, IsFnv1a) {
  EXPECT_EQ(fnv1a64(""), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a64("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(fnv1a64("foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(fnv1a64("\xff"), 0xaf64724c8602eb6eu) << "bytes above 127 are not negative";
}

TEST(Hash, IsAConstant) { static_assert(fnv1a64("foobar") == 0x85944171f73967e8u); }

}  // namespace
}  // namespace lockstep

// sanitize: address
#include "engine/data/transforms.h"

#include <gtest/gtest.h>

#include <string_view>

#include "engine/data/pixels.h"
#include "tests/engine/data/golden.h"

namespace lockstep::data {
namespace {

constexpr int64_t kPixels = 3 * 32 * 32;

std::vector<uint8_t> formula_picture(int64_t index) {
  std::vector<uint8_t> bytes(kPixels);
  for (int64_t i = 0; i < kPixels; ++i) {
    bytes[i] = static_cast<uint8_t>(i * 97 + i / 1024 * 31 + index * 7);
  }
  return bytes;
}

uint64_t fnv_of(const std::vector<float>& image) {
  return fnv1a64(
      {reinterpret_cast<const char*>(image.data()), image.size() * sizeof(float)});
}

// Crop, flip and float32 arithmetic match torchvision bit for bit.
TEST(Transforms, EqualTorchvision) {
  bool flips = false, stays = false;
  for (const auto& golden : golden().at("pictures")) {
    Draws draws(golden.at("seed"), golden.at("epoch"), golden.at("index"));
    const auto augmentation = Augmentation::draw(4, draws);
    EXPECT_EQ(nlohmann::json({augmentation.top, augmentation.left, augmentation.flip}),
              golden.at("crop"));
    (augmentation.flip ? flips : stays) = true;

    std::vector<uint8_t> planes(kPixels);
    crop_and_flip(formula_picture(golden.at("index")), {32, 32}, 4, augmentation,
                  planes);
    std::vector<float> image(kPixels);
    cifar10_normalize()(planes, image);
    for (size_t i = 0; i < golden.at("at").size(); ++i) {
      EXPECT_EQ(image[golden.at("at")[i]], golden.at("values")[i].get<float>());
    }
    EXPECT_EQ(fnv_of(image), golden.at("fnv1a64").get<uint64_t>()) << golden.dump();
  }
  EXPECT_TRUE(flips && stays);
}

// 2 rows of 3 pixels, small enough to write out.
class SmallPicture : public testing::Test {
 protected:
  std::vector<int> transformed(int64_t padding, const Augmentation& augmentation) {
    std::vector<uint8_t> planes(18);
    crop_and_flip(bytes_, {2, 3}, padding, augmentation, planes);
    return {planes.begin(), planes.end()};
  }

  std::vector<uint8_t> bytes_{1,  2,  3,  4,  5,  6,  11, 12, 13,
                              14, 15, 16, 21, 22, 23, 24, 25, 26};
};

TEST_F(SmallPicture, StaysWithoutAugmentation) {
  const std::vector<int> same(bytes_.begin(), bytes_.end());
  EXPECT_EQ(transformed(0, {}), same);
  EXPECT_EQ(transformed(4, Augmentation::none(4)), same);
}

TEST_F(SmallPicture, MovesIntoItsPadding) {
  const std::vector<int> down_right{0, 0,  0,  0, 1, 2, 0, 0,  0,
                                    0, 11, 12, 0, 0, 0, 0, 21, 22};
  EXPECT_EQ(transformed(1, {.top = 0, .left = 0}), down_right);
  const std::vector<int> up_left{5, 6, 0, 0,  0,  0, 15, 16, 0,
                                 0, 0, 0, 25, 26, 0, 0,  0,  0};
  EXPECT_EQ(transformed(1, {.top = 2, .left = 2}), up_left);
}

TEST_F(SmallPicture, FlipsAfterTheCrop) {
  const std::vector<int> flipped{0, 6, 5, 0, 0,  0,  0, 16, 15,
                                 0, 0, 0, 0, 26, 25, 0, 0,  0};
  EXPECT_EQ(transformed(1, {.top = 2, .left = 2, .flip = true}), flipped);
}

TEST(Transforms, DrawsEveryCropAndBothFlipsEquallyOften) {
  std::array<int, 9> top{}, left{};
  int flips = 0;
  for (int64_t index = 0; index < 9'000; ++index) {
    Draws draws(5, 6, index);
    const auto drawn = Augmentation::draw(4, draws);
    ++top.at(drawn.top);
    ++left.at(drawn.left);
    flips += drawn.flip;
  }
  for (int i = 0; i < 9; ++i) {
    EXPECT_NEAR(top[i], 1000, 120) << i;
    EXPECT_NEAR(left[i], 1000, 120) << i;
  }
  EXPECT_NEAR(flips, 4500, 200);
}

}  // namespace
}  // namespace lockstep::data

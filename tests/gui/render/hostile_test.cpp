// Malformed draw data. Memory errors are detected by the sanitizer build.
// sanitize: address
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "drawing.h"

namespace lockstep::gui {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Hostile, NothingIsDrawnFromNoNumber) {
  for (const ImVec2 bad : {ImVec2{kNan, 2}, ImVec2{2, kNan}}) {
    Drawing drawing(8, 8);
    drawing.triangle({-20, -20}, {30, -20}, bad, kWhite);
    drawing.rectangle(bad, {8, 8}, kWhite);
    drawing.rectangle({0, 0}, bad, kWhite);
    for (const uint32_t seen : drawing.draw().pixels) EXPECT_EQ(seen, kBlack);
  }
}

TEST(Hostile, NothingIsDrawnInAnInvertedOrUnknownClip) {
  const ImVec4 clips[] = {{6, 0, 2, 8},    {0, 6, 8, 2},   {kNan, 0, 8, 8},
                          {0, 0, 8, kNan}, {9, 9, 20, 20}, {-9, -9, -1, -1}};
  for (const ImVec4& clip : clips) {
    Drawing drawing(8, 8);
    drawing.clip(clip);
    drawing.rectangle({-1, -1}, {9, 9}, kWhite);
    drawing.triangle({-20, -20}, {60, -20}, {-20, 60}, kWhite);
    for (const uint32_t seen : drawing.draw().pixels) EXPECT_EQ(seen, kBlack);
  }
}

TEST(Hostile, TheEndlessCoversAll) {
  Drawing drawing(8, 8);
  drawing.clip({-kInfinity, -1e30f, 1e30f, kInfinity});
  drawing.rectangle({-kInfinity, -1e30f}, {kInfinity, 1e30f}, kWhite);
  for (const uint32_t seen : drawing.draw().pixels) EXPECT_EQ(seen, kWhite);
}

TEST(Hostile, IndicesAndOffsetsFromOutsideDrawNothing) {
  const auto draws_nothing = [](auto change) {
    Drawing drawing(8, 8);
    drawing.rectangle({0, 0}, {8, 8}, kWhite);
    change(drawing);
    for (const uint32_t seen : drawing.draw().pixels) {
      if (seen != kBlack) return false;
    }
    return true;
  };
  EXPECT_TRUE(draws_nothing([](Drawing& d) {
    for (auto& index : d.list().IdxBuffer) index = static_cast<ImDrawIdx>(index + 4);
  }));
  EXPECT_TRUE(draws_nothing([](Drawing& d) { d.command().VtxOffset = 4; }));
  EXPECT_TRUE(draws_nothing([](Drawing& d) { d.command().VtxOffset = ~0u; }));
  EXPECT_TRUE(draws_nothing([](Drawing& d) { d.command().IdxOffset = 6; }));
  EXPECT_TRUE(draws_nothing([](Drawing& d) { d.command().IdxOffset = ~0u; }));
  EXPECT_TRUE(draws_nothing([](Drawing& d) { d.list().VtxBuffer.clear(); }));
  EXPECT_TRUE(draws_nothing([](Drawing& d) { d.list().IdxBuffer.clear(); }));
  EXPECT_FALSE(draws_nothing([](Drawing& d) { d.command().ElemCount = ~0u; }));
}

TEST(Hostile, BesideATextureLieItsOuterTexels) {
  const uint32_t memory[] = {gray(9), gray(9), gray(50), gray(60), gray(9), gray(9)};
  const Texture texture{2, 1, memory + 2};
  Drawing drawing(8, 3);
  drawing.clip({0, 0, 8, 3}, &texture);
  drawing.rectangle({0, 0}, {8, 3}, kWhite, {-1.5f, -1}, {2.5f, 2});
  const Image& image = drawing.draw();
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 8; ++x) {
      EXPECT_EQ(pixel(image, x, y), gray(x < 4 ? 50 : 60)) << x << ", " << y;
    }
  }
}

TEST(Hostile, EmptyPicturesStayEmpty) {
  Drawing drawing(8, 8);
  drawing.rectangle({0, 0}, {8, 8}, kWhite);
  for (const auto& [width, height] : {std::pair{0, 5}, {5, 0}, {-3, 7}, {-3, -7}}) {
    Image image{width, height, {1, 2, 3}};
    rasterize(drawing.data(), image, kBlack);
    EXPECT_TRUE(image.pixels.empty());
  }
}

/// Random numbers of all magnitudes, including NaN and infinity.
class Wild {
 public:
  explicit Wild(unsigned seed) : random_(seed) {}
  unsigned pick(unsigned count) { return static_cast<unsigned>(random_() % count); }
  float number() {
    static constexpr float kOdd[] = {
        0,     -0.0f,  1,    0.5f,  kNan,    kInfinity, -kInfinity, 1e-40f,
        3e38f, -3e38f, 1e9f, -1e9f, 1048575, 32768,     2048,       -1.0f / 512};
    switch (pick(4)) {
      case 0:
        return kOdd[pick(std::size(kOdd))];
      case 1:
        return std::ldexp(static_cast<float>(random_()) - 2e9f,
                          static_cast<int>(pick(60)) - 60);
      default:
        return static_cast<float>(pick(64 * 256)) / 256 - 16;
    }
  }
  ImVec2 point() {
    const float x = number();
    return {x, number()};
  }
  uint32_t color() { return pick(3) ? static_cast<uint32_t>(random_()) : kWhite; }

 private:
  std::mt19937 random_;
};

TEST(Hostile, NoNumbersReachMemoryThatIsNotTheirs) {
  const uint32_t texels[6] = {1, 2, 3, 0xffffffff, 0x80ffffff, 6};
  const Texture textures[] = {{3, 2, texels},  {2, 3, texels}, {1, 6, texels},
                              {-1, 2, texels}, {4, 0, texels}, {4, 4, nullptr}};
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Wild wild(seed);
    Drawing drawing(1 + static_cast<int>(wild.pick(40)),
                    1 + static_cast<int>(wild.pick(40)));
    if (wild.pick(3) == 0) drawing.data().FramebufferScale = wild.point();
    if (wild.pick(3) == 0) drawing.data().DisplayPos = wild.point();
    for (int shape = 0; shape < 8; ++shape) {
      if (wild.pick(2)) {
        const ImVec2 a = wild.point(), c = wild.point();
        drawing.clip({a.x, a.y, c.x, c.y}, &textures[wild.pick(6)]);
      }
      if (wild.pick(2)) {
        const ImVec2 a = wild.point(), c = wild.point(), uv = wild.point();
        const auto letter = ImVec2{uv.x + (c.x - a.x) / 3, uv.y + (c.y - a.y) / 2};
        drawing.rectangle(a, c, wild.color(), uv, wild.pick(2) ? letter : wild.point());
      } else {
        const ImDrawIdx i = drawing.vertex(wild.point(), wild.color(), wild.point());
        drawing.vertex(wild.point(), wild.color(), wild.point());
        drawing.vertex(wild.point(), wild.color(), wild.point());
        const auto index = [&] {
          return static_cast<ImDrawIdx>(i + wild.pick(wild.pick(9) ? 3 : 60000));
        };
        drawing.indices({index(), index(), index()});
      }
    }
    const Image& image = drawing.draw();
    for (const uint32_t seen : image.pixels) ASSERT_EQ(seen >> 24, 255u) << seed;
  }
}

}  // namespace
}  // namespace lockstep::gui

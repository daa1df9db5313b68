// The colour of a covered pixel: blending, gradients, textures, glyphs.
// sanitize: address
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "drawing.h"

namespace lockstep::gui {
namespace {

int level(uint32_t color, int channel) {
  return static_cast<int>(color >> (8 * channel) & 255);
}

TEST(Colors, BlendAsExactArithmeticRounds) {
  for (int alpha = 0; alpha < 256; alpha += 5) {
    for (int below = 0; below < 256; below += 17) {
      Drawing drawing(1, 1);
      const uint32_t source = 0x00c86400 | static_cast<uint32_t>(alpha) << 24;
      drawing.rectangle({0, 0}, {1, 1}, source);
      const uint32_t seen = drawing.draw(gray(below)).pixels[0];
      EXPECT_EQ(level(seen, 3), 255);
      for (int i = 0; i < 3; ++i) {
        const int sum = level(source, i) * alpha + below * (255 - alpha);
        EXPECT_EQ(level(seen, i), std::lround(sum / 255.0)) << alpha << ", " << below;
      }
    }
  }
}

TEST(Colors, GradientsAreEvenAndReachTheirEnds) {
  Drawing drawing(256, 4);
  const ImDrawIdx i = drawing.vertex({0, 0}, gray(0));
  drawing.vertex({256, 0}, gray(255));
  drawing.vertex({256, 4}, gray(255));
  drawing.vertex({0, 4}, gray(0));
  const auto plus = [i](int n) { return static_cast<ImDrawIdx>(i + n); };
  drawing.indices({i, plus(1), plus(2), i, plus(2), plus(3)});
  const Image& image = drawing.draw();
  for (int x = 0; x < 256; ++x) {
    const auto exact = std::lround((x + 0.5) * 255 / 256);
    ASSERT_EQ(pixel(image, x, 0), gray(static_cast<int>(exact)));
    ASSERT_EQ(pixel(image, x, 3), pixel(image, x, 0));
  }
}

TEST(Colors, FourCornersKeepTheirColors) {
  const uint32_t corners[] = {0xff0000ff, 0xff00ff00, 0xffff0000, 0xffffffff};
  Drawing drawing(600, 400);
  drawing.vertex({0, 0}, corners[0]);
  drawing.vertex({600, 0}, corners[1]);
  drawing.vertex({600, 400}, corners[2]);
  drawing.vertex({0, 400}, corners[3]);
  drawing.indices({0, 1, 2, 0, 2, 3});
  const Image& image = drawing.draw();
  const uint32_t seen[] = {pixel(image, 0, 0), pixel(image, 599, 0),
                           pixel(image, 599, 399), pixel(image, 0, 399)};
  for (int corner = 0; corner < 4; ++corner) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(level(seen[corner], i), level(corners[corner], i), 1) << corner;
    }
  }
}

TEST(Colors, FringesFade) {
  Drawing drawing(1, 8);  // from opaque at the top to transparent
  drawing.vertex({-9, 0}, 0xffffffff);
  drawing.vertex({9, 0}, 0xffffffff);
  drawing.vertex({9, 8}, 0x00ffffff);
  drawing.vertex({-9, 8}, 0x00ffffff);
  drawing.indices({0, 1, 2, 0, 2, 3});
  const Image& image = drawing.draw();
  for (int y = 0; y < 8; ++y) {
    EXPECT_EQ(pixel(image, 0, y),
              gray(static_cast<int>(std::lround(255 - (y + 0.5) * 255 / 8))));
  }
}

/// A texture of random noise.
struct Noise {
  explicit Noise(int width, int height) {
    std::mt19937 random(4);
    for (int i = 0; i < width * height; ++i) {
      texels.push_back(kBlack | static_cast<uint32_t>(random()));
    }
    texture = {width, height, texels.data()};
  }
  ImVec2 uv(int column, int row) const {
    return {static_cast<float>(column) / static_cast<float>(texture.width),
            static_cast<float>(row) / static_cast<float>(texture.height)};
  }
  uint32_t texel(int column, int row) const {
    return texels.at(static_cast<size_t>(row * texture.width + column));
  }
  std::vector<uint32_t> texels;
  Texture texture;
};

TEST(Letters, AreCopiedTexelByTexelWhereverTheyStand) {
  const Noise noise(64, 32);
  for (const float shift : {0.0f, 0.25f, 0.4f, 0.5f, 0.51f, 0.75f}) {
    Drawing drawing(30, 20);
    drawing.clip({0, 0, 30, 20}, &noise.texture);
    const ImVec2 at{5 + shift, 3 + shift};
    drawing.rectangle(at, {at.x + 7, at.y + 9}, kWhite, noise.uv(11, 13),
                      noise.uv(18, 22));
    const Image& image = drawing.draw();
    const int first = shift > 0.5f ? 1 : 0;  // rounds to the nearest pixel
    for (int y = 0; y < 20; ++y) {
      for (int x = 0; x < 30; ++x) {
        const int u = x - 5 - first, v = y - 3 - first;
        const bool inside = u >= 0 && u < 7 && v >= 0 && v < 9;
        ASSERT_EQ(pixel(image, x, y), inside ? noise.texel(11 + u, 13 + v) : kBlack)
            << shift << ": " << x << ", " << y;
      }
    }
  }
}

TEST(Letters, OfThreeTexelsPerPixelTakeTheNearest) {
  const Noise noise(64, 16);
  for (int third = 0; third < 3; ++third) {
    Drawing drawing(10, 8);
    drawing.clip({0, 0, 10, 8}, &noise.texture);
    const float x = 2 + static_cast<float>(third) / 3;
    drawing.rectangle({x, 1}, {x + 5, 7}, kWhite, noise.uv(9, 2), noise.uv(24, 8));
    const Image& image = drawing.draw();
    // The centre of pixel 4 is 2.5 - third / 3 pixels, or 7.5 - third texels, inside.
    EXPECT_EQ(pixel(image, 4, 3), noise.texel(9 + 7 - third, 4));
    EXPECT_EQ(pixel(image, 5, 3), noise.texel(9 + 10 - third, 4));
  }
}

TEST(Letters, TakeTheirColorAndTheTexelsAlpha) {
  const uint32_t texels[] = {0x80ffffff, 0x00ffffff};
  const Texture texture{2, 1, texels};
  Drawing drawing(2, 1);
  drawing.clip({0, 0, 2, 1}, &texture);
  drawing.rectangle({0, 0}, {2, 1}, 0xff0000ff, {0, 0}, {1, 1});
  const Image& image = drawing.draw();
  EXPECT_EQ(pixel(image, 0, 0), 0xff000080);
  EXPECT_EQ(pixel(image, 1, 0), kBlack);
}

TEST(Textures, AreSmoothWhenEnlarged) {
  const uint32_t texels[] = {gray(0), gray(200)};
  const Texture texture{2, 1, texels};
  Drawing drawing(8, 4);  // 4 pixels per texel in each direction
  drawing.clip({0, 0, 8, 4}, &texture);
  drawing.rectangle({0, 0}, {8, 4}, kWhite, {0, 0}, {1, 1});
  const Image& image = drawing.draw();
  // Pixel centres are 1/8, 3/8, 5/8, 7/8 of the way between the texels' centres.
  const int expected[] = {0, 0, 25, 75, 125, 175, 200, 200};
  for (int x = 0; x < 8; ++x) EXPECT_EQ(pixel(image, x, 2), gray(expected[x])) << x;
}

TEST(Textures, OfNothingAreWhite) {
  const Texture empty;
  for (const Texture* texture : {static_cast<const Texture*>(nullptr), &empty}) {
    Drawing drawing(2, 2);
    drawing.clip({0, 0, 2, 2}, texture);
    drawing.rectangle({0, 0}, {2, 2}, 0xff123456, {0, 0}, {0.3f, 0.7f});
    EXPECT_EQ(pixel(drawing.draw(), 1, 1), 0xff123456u);
  }
}

TEST(Commands, OfCallbacksAreSkipped) {
  Drawing drawing(4, 4);
  drawing.triangle({0, 0}, {0, 9}, {9, 0}, kWhite);
  drawing.command().UserCallback = [](const ImDrawList*, const ImDrawCmd*) { FAIL(); };
  EXPECT_EQ(pixel(drawing.draw(), 1, 1), kBlack);
}

TEST(Commands, CountVerticesFromTheirOffset) {
  Drawing drawing(4, 4);
  drawing.triangle({0, 0}, {0, 9}, {9, 0}, 0xff0000ff);
  drawing.clip({0, 0, 4, 4});
  drawing.command().VtxOffset = 3;
  drawing.vertex({0, 0}, 0xff00ff00);
  drawing.vertex({0, 9}, 0xff00ff00);
  drawing.vertex({9, 0}, 0xff00ff00);
  drawing.indices({0, 1, 2});
  EXPECT_EQ(pixel(drawing.draw(), 1, 1), 0xff00ff00u);
}

}  // namespace
}  // namespace lockstep::gui

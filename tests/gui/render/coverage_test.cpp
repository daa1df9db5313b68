// The pixels that a shape covers: exactly the right ones, each once.
// sanitize: address
#include <gtest/gtest.h>

#include <random>

#include "drawing.h"

namespace lockstep::gui {
namespace {

/// A position in units of 1/256 pixel, which float represents exactly.
struct Spot {
  int x, y;  // 1/256 pixel
  ImVec2 in_pixels() const {
    return {static_cast<float>(x) / 256, static_cast<float>(y) / 256};
  }
};

/// The top-left rule, pixel by pixel: a pixel is covered if its centre is inside, on a
/// top edge (horizontal, the shape below it) or on a left edge (the shape to its
/// right).
bool covers(Spot a, Spot b, Spot c, int x, int y) {
  const auto side = [](Spot p, Spot q, int64_t px, int64_t py) {
    return int64_t{q.x - p.x} * (py - p.y) - int64_t{q.y - p.y} * (px - p.x);
  };
  const int64_t area = side(a, b, c.x, c.y);
  if (area == 0) return false;
  if (area < 0) std::swap(b, c);
  const auto belongs = [&](Spot p, Spot q) {  // the shape is on the positive side
    const int64_t at = side(p, q, 256 * x + 128, 256 * y + 128);
    const bool top = p.y == q.y && q.x > p.x, left = q.y < p.y;
    return at > 0 || (at == 0 && (top || left));
  };
  return belongs(a, b) && belongs(b, c) && belongs(c, a);
}

TEST(Coverage, IsTheTextbooks) {
  std::mt19937 random(1);
  constexpr int kSide = 24;
  for (int round = 0; round < 4000; ++round) {
    // Often on whole and half pixels, so that pixel centres are on edges.
    const int step = round % 3 == 0 ? 128 : round % 3 == 1 ? 32 : 1;
    const auto spot = [&] {
      const auto position = [&] {
        return static_cast<int>(random() % (36 * 256)) / step * step - 6 * 256;
      };
      const int x = position();
      return Spot{x, position()};
    };
    const Spot a = spot(), b = spot(), c = spot();
    Drawing drawing(kSide, kSide);
    drawing.triangle(a.in_pixels(), b.in_pixels(), c.in_pixels(), kWhite);
    const Image& image = drawing.draw();
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        ASSERT_EQ(pixel(image, x, y) == kWhite, covers(a, b, c, x, y))
            << "round " << round << ", pixel " << x << ", " << y;
      }
    }
  }
}

TEST(Coverage, NeighboursShareNoPixelAndLeaveNone) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    // Splits a square into four triangles at a random point. They are half transparent,
    // so a pixel that is drawn twice is detected.
    const ImVec2 corners[] = {{-3, -3}, {40, -3}, {40, 40}, {-3, 40}};
    const auto anywhere = [&] { return static_cast<float>(random() % 8192) / 256; };
    const ImVec2 middle{anywhere(), anywhere()};
    Drawing drawing(32, 32);
    for (int i = 0; i < 4; ++i) {
      drawing.triangle(corners[i], corners[(i + 1) % 4], middle, 0x80ffffff);
    }
    const Image& image = drawing.draw();
    for (const uint32_t seen : image.pixels) ASSERT_EQ(seen, gray(128));
  }
}

TEST(Coverage, RectanglesEqualTheirTwoTriangles) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    const auto anywhere = [&] {
      return static_cast<float>(random() % (40 * 256)) / 256 - 4;
    };
    const ImVec2 a{anywhere(), anywhere()}, c{anywhere(), anywhere()};
    Drawing whole(32, 32), halves(32, 32);
    whole.rectangle(a, c, 0x6080ff40);
    halves.triangle(a, {c.x, a.y}, c, 0x6080ff40);
    halves.triangle(a, {a.x, c.y}, c, 0x6080ff40);
    ASSERT_EQ(whole.draw().pixels, halves.draw().pixels) << "round " << round;
  }
}

TEST(Coverage, EndsAtTheClip) {
  for (const bool as_rectangle : {true, false}) {
    Drawing drawing(20, 20);
    drawing.clip({3, 4, 11, 9});
    if (as_rectangle) {
      drawing.rectangle({-5, -5}, {30, 30}, kWhite);
    } else {
      drawing.triangle({-100, -100}, {200, -100}, {-100, 200}, kWhite);
    }
    const Image& image = drawing.draw();
    for (int y = 0; y < 20; ++y) {
      for (int x = 0; x < 20; ++x) {
        const bool inside = x >= 3 && x < 11 && y >= 4 && y < 9;
        ASSERT_EQ(pixel(image, x, y), inside ? kWhite : kBlack) << x << ", " << y;
      }
    }
  }
}

TEST(Coverage, PointsAreScaledToPixels) {
  Drawing drawing(40, 40, 2);
  drawing.data().DisplayPos = {100, 50};
  drawing.command().ClipRect = {100, 50, 119.5f, 70};
  drawing.rectangle({102.5f, 53}, {130, 54.5f}, kWhite);
  const Image& image = drawing.draw();
  EXPECT_EQ(pixel(image, 4, 6), kBlack);
  EXPECT_EQ(pixel(image, 5, 5), kBlack);
  EXPECT_EQ(pixel(image, 5, 6), kWhite);
  EXPECT_EQ(pixel(image, 38, 8), kWhite);
  EXPECT_EQ(pixel(image, 39, 8), kBlack);  // clipped
  EXPECT_EQ(pixel(image, 38, 9), kBlack);
}

}  // namespace
}  // namespace lockstep::gui

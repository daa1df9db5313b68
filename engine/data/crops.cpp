#include "engine/data/resize.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace lockstep::data {
namespace {

constexpr double kLeastArea = 0.08;
constexpr double kNarrowest = 3.0 / 4.0, kWidest = 4.0 / 3.0;
constexpr int kTries = 10;

/// Python's round(): halves are rounded to the even neighbour.
int64_t round_half_even(double x) { return static_cast<int64_t>(std::nearbyint(x)); }

double between(double low, double high, Draws& draws) {
  return low + (high - low) * draws.uniform();
}

Box widest_in_the_middle(PictureSize picture) {
  auto [width, height] = picture;
  const auto w = static_cast<double>(width), h = static_cast<double>(height);
  if (w / h < kNarrowest) {
    height = round_half_even(w / kNarrowest);
  } else if (w / h > kWidest) {
    width = round_half_even(h * kWidest);
  }
  return {(picture.width - width) / 2, (picture.height - height) / 2, width, height};
}

Box random_box(PictureSize picture, Draws& draws) {
  const double area = static_cast<double>(picture.width * picture.height);
  for (int i = 0; i < kTries; ++i) {
    const double target = area * between(kLeastArea, 1.0, draws);
    const double shape =
        std::exp(between(std::log(kNarrowest), std::log(kWidest), draws));
    const int64_t width = round_half_even(std::sqrt(target * shape));
    const int64_t height = round_half_even(std::sqrt(target / shape));
    if (width < 1 || height < 1) continue;
    if (width > picture.width || height > picture.height) continue;
    const int64_t top = draws.integer(picture.height - height + 1);
    const int64_t left = draws.integer(picture.width - width + 1);
    return {left, top, width, height};
  }
  return widest_in_the_middle(picture);
}

}  // namespace

View random_resized_crop(PictureSize picture, int64_t size, Draws& draws) {
  View view{random_box(picture, draws), size, size, {0, 0, size, size}, false};
  view.flip = draws.uniform() < 0.5;
  return view;
}

View center_crop(PictureSize picture, int64_t short_side, int64_t size) {
  const auto [width, height] = picture;
  const int64_t long_side =
      short_side * std::max(width, height) / std::min(width, height);
  View view{{0, 0, width, height}, short_side, long_side, {}, false};
  if (width > height) std::swap(view.width, view.height);
  const auto margin = [size](int64_t side) {
    return round_half_even(static_cast<double>(side - size) / 2);
  };
  view.part = {margin(view.width), margin(view.height), size, size};
  return view;
}

}  // namespace lockstep::data

// Contrast between text and what is behind it, as WCAG 2.2 defines it.
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/ui/theme.h"

namespace lockstep::gui {

namespace {

/// Returns the linear light of each value of an sRGB channel.
const std::array<float, 256>& linear_light() {
  static const auto table = [] {
    std::array<float, 256> light{};
    for (size_t i = 0; i < light.size(); ++i) {
      const double c = static_cast<double>(i) / 255;
      light[i] = static_cast<float>(c <= 0.04045 ? c / 12.92
                                                 : std::pow((c + 0.055) / 1.055, 2.4));
    }
    return light;
  }();
  return table;
}

float luminance(ImU32 colour) {
  const auto& light = linear_light();
  return 0.2126f * light[colour >> IM_COL32_R_SHIFT & 255] +
         0.7152f * light[colour >> IM_COL32_G_SHIFT & 255] +
         0.0722f * light[colour >> IM_COL32_B_SHIFT & 255];
}

}  // namespace

float contrast(ImU32 a, ImU32 b) {
  const auto [low, high] = std::minmax({luminance(a), luminance(b)});
  return (high + 0.05f) / (low + 0.05f);
}

ImU32 ink_on(ImU32 ground) {
  return contrast(IM_COL32_BLACK, ground) > contrast(IM_COL32_WHITE, ground)
             ? IM_COL32_BLACK
             : IM_COL32_WHITE;
}

ImU32 readable(ImU32 colour, ImU32 ground) {
  const ImU32 ink = ink_on(ground);
  for (int part = 0; part < 10; ++part) {
    const ImU32 mix = mixed(colour, ink, static_cast<float>(part) / 10);
    if (contrast(mix, ground) >= kReadable + 0.1f) return mix;
  }
  return ink;
}

}  // namespace lockstep::gui

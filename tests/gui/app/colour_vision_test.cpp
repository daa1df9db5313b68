// Colours and hatches that people with protanopia or deuteranopia can tell apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>

#include "gui/panels/pipeline_legend.h"
#include "gui/render/offscreen.h"
#include "gui/ui/theme.h"

namespace lockstep::gui {
namespace {

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

// Linear sRGB as it is seen: Machado, Oliveira and Fernandes, "A Physiologically-based
// Model for Simulation of Color Vision Deficiency" (2009), table 1, severity 1.0.
constexpr Matrix kNormal = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
constexpr Matrix kProtanopia = {{{0.152286, 1.052583, -0.204868},
                                 {0.114503, 0.786281, 0.099216},
                                 {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix kDeuteranopia = {{{0.367322, 0.860646, -0.227968},
                                   {0.280085, 0.672501, 0.047413},
                                   {-0.011820, 0.042940, 0.968881}}};
constexpr Matrix kSrgbToXyz = {{{0.4124564, 0.3575761, 0.1804375},
                                {0.2126729, 0.7151522, 0.0721750},
                                {0.0193339, 0.1191920, 0.9503041}}};

Vector product(const Matrix& m, const Vector& v) {
  Vector result{};
  for (size_t i = 0; i < 3; ++i) {
    for (size_t k = 0; k < 3; ++k) result[i] += m[i][k] * v[k];
  }
  return result;
}

/// Returns CIE L*a*b* (white: D65) of a colour as it is seen.
Vector lab(ImU32 colour, const Matrix& seen) {
  Vector light{};
  for (size_t i = 0; i < 3; ++i) {
    const double c = static_cast<double>(colour >> (8 * i) & 255) / 255;
    light[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  light = product(seen, light);
  for (double& part : light) part = std::clamp(part, 0.0, 1.0);
  const Vector xyz = product(kSrgbToXyz, light), white = product(kSrgbToXyz, {1, 1, 1});
  Vector f{};
  for (size_t i = 0; i < 3; ++i) {
    const double t = xyz[i] / white[i];
    f[i] = t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116;
  }
  return {116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])};
}

/// Returns CIEDE2000, as Sharma, Wu and Dalal give it (2005).
double ciede2000(const Vector& p, const Vector& q) {
  constexpr double kDegree = std::numbers::pi / 180;
  const auto seventh = [](double c) {
    return std::sqrt(std::pow(c, 7) / (std::pow(c, 7) + std::pow(25.0, 7)));
  };
  const auto hue = [&](double a, double b) {
    const double h = std::atan2(b, a) / kDegree;
    return h < 0 ? h + 360 : h;
  };
  const double mean_c = (std::hypot(p[1], p[2]) + std::hypot(q[1], q[2])) / 2;
  const double stretch = 1 + 0.5 * (1 - seventh(mean_c));
  const double a1 = p[1] * stretch, a2 = q[1] * stretch;
  const double c1 = std::hypot(a1, p[2]), c2 = std::hypot(a2, q[2]);
  const double h1 = hue(a1, p[2]), h2 = hue(a2, q[2]);
  double dh = h2 - h1, h = (h1 + h2) / 2;
  if (c1 * c2 == 0) {
    dh = 0, h = h1 + h2;
  } else if (std::abs(dh) > 180) {
    dh += dh > 0 ? -360 : 360;
    h += h < 180 ? 180 : -180;
  }
  const double l = (p[0] + q[0]) / 2 - 50, c = (c1 + c2) / 2;
  const double t =
      1 - 0.17 * std::cos((h - 30) * kDegree) + 0.24 * std::cos(2 * h * kDegree) +
      0.32 * std::cos((3 * h + 6) * kDegree) - 0.20 * std::cos((4 * h - 63) * kDegree);
  const double turn = 60 * std::exp(-std::pow((h - 275) / 25, 2)) * kDegree;
  const double dl = (q[0] - p[0]) / (1 + 0.015 * l * l / std::sqrt(20 + l * l));
  const double dc = (c2 - c1) / (1 + 0.045 * c);
  const double dhue =
      2 * std::sqrt(c1 * c2) * std::sin(dh / 2 * kDegree) / (1 + 0.015 * c * t);
  return std::sqrt(dl * dl + dc * dc + dhue * dhue -
                   std::sin(turn) * 2 * seventh(c) * dc * dhue);
}

double difference(ImU32 a, ImU32 b, const Matrix& seen) {
  return ciede2000(lab(a, seen), lab(b, seen));
}

/// Checks that two colours are told apart with each kind of colour vision.
void expect_different(const Theme& theme, ImU32 a, ImU32 b, const std::string& names) {
  const char* const of = theme.dark ? " (dark)" : " (light)";
  EXPECT_GE(difference(a, b, kNormal), 12) << names << of;
  EXPECT_GE(difference(a, b, kProtanopia), 12) << names << of;
  EXPECT_GE(difference(a, b, kDeuteranopia), 10) << names << of;
}

// Pairs 1, 7, 13, 19 and 25 of table 1 of Sharma, Wu and Dalal (2005).
TEST(ColourVision, DifferencesAreThoseOfThePublishedTable) {
  const auto is = [](Vector a, Vector b, double expected) {
    EXPECT_NEAR(ciede2000(a, b), expected, 5e-5);
  };
  is({50, 2.6772, -79.7751}, {50, 0, -82.7485}, 2.0425);
  is({50, 0, 0}, {50, -1, 2}, 2.3669);
  is({50, -0.001, 2.49}, {50, 0.0011, -2.49}, 4.7461);
  is({50, 2.5, 0}, {56, -27, -3}, 31.9030);
  is({60.2574, -34.0099, 36.2677}, {60.4626, -34.1751, 39.4387}, 1.2644);
}

TEST(ColourVision, WhiteAndGreyStayAsTheyAre) {
  for (const Matrix& seen : {kProtanopia, kDeuteranopia}) {
    for (const ImU32 grey : {IM_COL32_WHITE, IM_COL32(90, 90, 90, 255)}) {
      EXPECT_LT(ciede2000(lab(grey, seen), lab(grey, kNormal)), 0.1);
    }
  }
}

TEST(ColourVision, RedAndGreenOfEqualLightnessLookAlikeWithProtanopia) {
  const ImU32 red = IM_COL32(214, 92, 60, 255), green = IM_COL32(122, 118, 62, 255);
  EXPECT_GT(difference(red, green, kNormal), 30);
  EXPECT_LT(difference(red, green, kProtanopia), 12);
}

TEST(ColourVision, MeaningsDifferInEachTheme) {
  for (const Theme* theme : {&dark_theme(), &light_theme()}) {
    std::map<ImU32, std::string> meanings;
    for (const char* phase :
         {phases::data, phases::h2d, phases::scatter, phases::replicate,
          phases::forward, phases::gather, phases::loss, phases::backward,
          phases::reduce, phases::all_reduce, phases::optimizer}) {
      meanings.emplace(phase_colour(*theme, phase), phase);
    }
    for (const char* why : {reasons::h2d, reasons::d2h, reasons::replicate,
                            reasons::reduce, reasons::gather, reasons::activation,
                            reasons::activation_grad, reasons::sync_batch_norm}) {
      meanings.emplace(reason_colour(*theme, why), why);
    }
    for (size_t i = 0; i < std::size(tracer::memory_categories); ++i) {
      meanings.emplace(memory_colour(*theme, i), tracer::memory_categories[i]);
    }
    EXPECT_EQ(meanings.size(), 10u);
    for (auto a = meanings.begin(); a != meanings.end(); ++a) {
      for (auto b = std::next(a); b != meanings.end(); ++b) {
        expect_different(*theme, a->first, b->first, a->second + ", " + b->second);
      }
    }
  }
}

TEST(ColourVision, ClassesOfThePipelinesGridDiffer) {
  using tracer::Slot;
  for (const Theme* theme : {&dark_theme(), &light_theme()}) {
    for (size_t i = 0; i < tracer::kSlots; ++i) {
      for (size_t k = 0; k < i; ++k) {
        const auto one = static_cast<Slot>(i), other = static_cast<Slot>(k);
        const SlotLook a = slot_look(*theme, one), b = slot_look(*theme, other);
        if (a.hatch != b.hatch || (one == Slot::gpu && other == Slot::core)) continue;
        expect_different(*theme, a.colour, b.colour,
                         std::string(words_of(one).name) + ", " + words_of(other).name);
      }
    }
  }
}

TEST(ColourVision, FillDrainAndUnevenStagesHaveHatchesOfTheirOwn) {
  using tracer::Slot;
  const auto hatch = [](Slot slot) { return slot_look(dark_theme(), slot).hatch; };
  ASSERT_TRUE(hatch(Slot::fill) && hatch(Slot::drain) && hatch(Slot::uneven));
  EXPECT_NE(hatch(Slot::fill), hatch(Slot::drain));
  EXPECT_NE(hatch(Slot::fill), hatch(Slot::uneven));
  EXPECT_NE(hatch(Slot::drain), hatch(Slot::uneven));
  EXPECT_FALSE(hatch(Slot::pass));
}

TEST(ColourVision, HatchesAreDrawnInTheirDirections) {
  Offscreen screen(40, 40);
  const auto drawn = [&](Hatch hatch) {
    return screen.frame(
        [&] {
          Ui ui(dark_theme(), screen.fonts());
          ui.list = ImGui::GetBackgroundDrawList();
          ui.hatch({0, 0, 40, 40}, IM_COL32_WHITE, hatch);
        },
        IM_COL32_BLACK);
  };
  // Returns how much neighbours along a diagonal differ: least along the stripes.
  const auto change = [](const Image& image, int down) {
    int sum = 0;
    for (int y = 1; y < 39; ++y) {
      for (int x = 0; x < 39; ++x) {
        const auto at = [&](int px, int py) {
          return static_cast<int>(
              image.pixels[static_cast<size_t>(py * image.width + px)] & 255);
        };
        sum += std::abs(at(x, y) - at(x + 1, y + down));
      }
    }
    return sum;
  };
  const Image rising = drawn(Hatch::rising), falling = drawn(Hatch::falling);
  const Image crossed = drawn(Hatch::crossed);
  EXPECT_LT(4 * change(rising, -1), change(rising, 1));
  EXPECT_LT(4 * change(falling, 1), change(falling, -1));
  EXPECT_LT(change(crossed, 1), 2 * change(crossed, -1));
  EXPECT_LT(change(crossed, -1), 2 * change(crossed, 1));
}

}  // namespace
}  // namespace lockstep::gui

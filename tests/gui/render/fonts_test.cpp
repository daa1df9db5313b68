// sanitize: address
#include "gui/render/fonts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "drawing.h"
#include "gui/render/offscreen.h"

namespace lockstep::gui {
namespace {

namespace fs = std::filesystem;

const Type kAll[] = {Type::small, Type::body, Type::strong,    Type::title,
                     Type::huge,  Type::mono, Type::mono_small};

/// Returns a separate folder per test, since tests may run in parallel.
std::string empty_folder() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const fs::path folder =
      fs::path(testing::TempDir()) / (std::string("lockstep_fonts_") + test->name());
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

float width(const ImFont& font, const char* text) {
  return const_cast<ImFont&>(font).CalcTextSizeA(font_size(font), 1e9f, 0, text).x;
}

TEST(Fonts, AreReplacedWhenTheyAreMissing) {
  ImFontAtlas atlas;
  const Fonts fonts = load_fonts(atlas, 1, empty_folder());
  EXPECT_FALSE(fonts.complete);
  EXPECT_NE(fonts.message.find("apt-get install fonts-inter"), std::string::npos);
  EXPECT_NE(fonts.message.find("Inter-Bold.otf"), std::string::npos);
  EXPECT_EQ(fonts.message.find('\n'), std::string::npos);
  for (const Type type : kAll) {
    ASSERT_NE(fonts.get(type), nullptr);
    EXPECT_GT(width(*fonts.get(type), "text"), 10);
  }
}

TEST(Fonts, FilesThatAreNoneAreMissing) {
  const std::string folder = empty_folder();
  std::ofstream(fs::path(folder) / "Inter-Regular.otf") << "no font at all";
  fs::create_directories(fs::path(folder) / "JetBrainsMono-Regular.ttf");
  ImFontAtlas atlas;
  const Fonts fonts = load_fonts(atlas, 1, folder);
  EXPECT_NE(fonts.message.find("Inter-Regular.otf"), std::string::npos);
  EXPECT_NE(fonts.message.find("JetBrainsMono-Regular.ttf"), std::string::npos);
}

TEST(Fonts, AreFoundInFoldersBelow) {
  const fs::path folder = empty_folder();
  fs::create_directories(folder / "a/b");
  std::ofstream(folder / "a/b/x.otf") << "bytes";
  const FontReader read = font_files(folder);
  EXPECT_EQ(read("x.otf"), "bytes");
  EXPECT_EQ(read("y.otf"), "");
  EXPECT_EQ(font_files("/no/such/folder")("x.otf"), "");
}

/// Uses the real fonts if they are installed.
class RealFonts : public testing::Test {
 protected:
  void SetUp() override {
    fonts_ = load_fonts(atlas_, 1);
    if (!fonts_.complete) GTEST_SKIP() << fonts_.message;
  }
  ImFontAtlas atlas_;
  Fonts fonts_;
};

TEST_F(RealFonts, HaveALineOfWholePoints) {
  for (const Type type : kAll) {
    const float size = font_size(*fonts_.get(type));
    EXPECT_EQ(size, std::round(size));
  }
  EXPECT_EQ(fonts_.message, "");
}

TEST_F(RealFonts, DrawEverySignThatTheViewerUses) {
  const ImWchar kSigns[] = {u'é', u'ß', u'µ', u'μ', u'λ', u'Δ', u'←', u'↑', u'→',
                            u'↓', u'↔', u'↕', u'↻', u'↺', u'×', u'·', u'…', u'–',
                            u'—', u'•', u'≤', u'≥', u'≈', u'≠', u'∞', u'✓', u'✗',
                            u'▶', u'◀', u'●', u'○', u'■', u'□', u'▲', u'▼', u'‖',
                            u'√', u'∑', u'²', u'₂', u'−', u'⇄', u'⇆', u'⇅', u'⟳',
                            u'✔', u'✕', u'⏵', u'⏸', u'⏹', u'⏭', u'⏮', u'⋯', u'∇'};
  for (const Type type : kAll) {
    for (const ImWchar sign : kSigns) {
      EXPECT_TRUE(has_glyph(*fonts_.get(type), sign))
          << static_cast<int>(type) << ": " << std::hex << sign;
    }
  }
}

TEST_F(RealFonts, DigitsAreAsWideAsEachOther) {
  for (const Type type : kAll) {
    for (const char* digit : {"1", "2", "3", "4", "5", "6", "7", "8", "9"}) {
      EXPECT_EQ(width(*fonts_.get(type), digit), width(*fonts_.get(type), "0"));
    }
  }
}

// Cyrillic is in Inter, Arabic and Hebrew in DejaVu; "♞" only in DejaVu.
TEST_F(RealFonts, AreLoadedAgainForNamesInOtherScripts) {
  if (font_files("")("DejaVuSans.ttf").empty()) GTEST_SKIP() << "DejaVu is missing";
  const char* const text = "слой שכבה طبقة ♞";
  for (const Type type : kAll) want_glyphs(fonts_, *fonts_.get(type), text);
  EXPECT_TRUE(fonts_.wanted.contains(u'ط'));
  EXPECT_FALSE(has_glyph(*fonts_.get(Type::body), u'ط'));
  ASSERT_TRUE(load_wanted(fonts_, atlas_, 1));
  for (const Type type : kAll) {
    for (const ImWchar sign : {u'с', u'ש', u'ط', u'♞'}) {
      EXPECT_TRUE(has_glyph(*fonts_.get(type), sign)) << std::hex << sign;
    }
  }
  want_glyphs(fonts_, *fonts_.get(Type::body), text);
  EXPECT_FALSE(load_wanted(fonts_, atlas_, 1)) << "nothing is missing any more";
  EXPECT_TRUE(fonts_.complete);
}

TEST_F(RealFonts, AreNotLoadedAgainForWhatNoFontHas) {
  const char* const text = "\xEF\xBF\xB0";  // U+FFF0 is not assigned
  want_glyphs(fonts_, *fonts_.get(Type::body), text);
  EXPECT_EQ(fonts_.wanted.size(), 1u);
  EXPECT_TRUE(load_wanted(fonts_, atlas_, 1));
  want_glyphs(fonts_, *fonts_.get(Type::body), text);
  EXPECT_FALSE(load_wanted(fonts_, atlas_, 1));
}

TEST_F(RealFonts, WantNothingForTextsThatTheViewerWrites) {
  want_glyphs(fonts_, *fonts_.get(Type::body), "37 µs → 4.2×, \"conv2d\" — 3 % · …");
  want_glyphs(fonts_, *fonts_.get(Type::body), "\xF0\x9F\x98\x80 \xC3");
  EXPECT_TRUE(fonts_.wanted.empty());  // no smiley has 16 bits; the last is cut off
}

TEST_F(RealFonts, MeasureTheSameAtEveryScale) {
  ImFontAtlas atlas;
  const Fonts twice = load_fonts(atlas, 2);
  for (const Type type : kAll) {
    EXPECT_EQ(font_size(*twice.get(type)), font_size(*fonts_.get(type)));
    EXPECT_NEAR(width(*twice.get(type), "four devices") /
                    width(*fonts_.get(type), "four devices"),
                1, 0.02);
  }
}

TEST_F(RealFonts, TextIsCrispWhereverItStands) {
  Offscreen offscreen(120, 40);
  const auto text_at = [&](float x, float y) {
    return offscreen.frame(
        [&] {
          ImFont* font = offscreen.fonts().get(Type::body);
          ImGui::GetBackgroundDrawList()->AddText(font, font_size(*font), {x, y},
                                                  kWhite, "HEILT wait 41");
        },
        kBlack);
  };
  const Image here = text_at(10, 10), there = text_at(14, 13);
  for (int y = 0; y < 30; ++y) {
    for (int x = 0; x < 110; ++x) {
      ASSERT_EQ(pixel(there, x + 4, y + 3), pixel(here, x, y)) << x << ", " << y;
    }
  }
  // The stem of H has a nearly white pixel next to a nearly black one.
  int brightest = 0;
  for (int x = 10; x < 20; ++x) {
    brightest = std::max(brightest, static_cast<int>(pixel(here, x, 17) & 255));
  }
  EXPECT_GT(brightest, 200);
}

}  // namespace
}  // namespace lockstep::gui

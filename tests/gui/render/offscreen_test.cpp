// sanitize: address
#include "gui/render/offscreen.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "drawing.h"

namespace lockstep::gui {
namespace {

namespace fs = std::filesystem;

/// A folder without fonts: ImGui's built-in font loads fast and is the same everywhere.
std::string no_fonts() {
  const fs::path folder = fs::path(testing::TempDir()) / "lockstep_no_fonts";
  fs::create_directories(folder);
  return folder;
}

void open_window(const char* name) {
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize({200, 100});
  ImGui::Begin(name, nullptr, ImGuiWindowFlags_NoDecoration);
}

TEST(Offscreen, TwiceTheSameIsTheSame) {
  const auto picture = [] {
    Offscreen offscreen(200, 100, 1, no_fonts());
    const auto draw = [] {
      open_window("window");
      ImGui::Text("text");
      ImGui::GetWindowDrawList()->AddBezierCubic({10, 90}, {50, 10}, {120, 20},
                                                 {190, 80}, 0xff00ccff, 2.5f);
      ImGui::End();
    };
    offscreen.frame(draw, kBlack);
    return offscreen.frame(draw, kBlack).pixels;
  };
  const auto first = picture();
  EXPECT_EQ(first.size(), 20000u);
  EXPECT_EQ(first, picture());
}

TEST(Offscreen, ClicksKeysTextAndWheelArrive) {
  Offscreen offscreen(200, 100, 1, no_fonts());
  int clicks = 0, presses = 0;
  bool held = false;
  float wheel = 0;
  Modifiers with;
  char text[16] = "";
  const auto frame = [&] {
    offscreen.frame(
        [&] {
          open_window("window");
          clicks += ImGui::Button("button", {100, 30});
          ImGui::InputText("text", text, sizeof text);
          presses += key_pressed(key_of('f'));
          held = key_down(Key::left);
          with = modifiers();
          wheel += ImGui::GetIO().MouseWheel;
          ImGui::End();
        },
        kBlack);
  };
  const auto click = [&](float x, float y) {
    offscreen.mouse(x, y);
    frame();
    offscreen.button(0, true);
    frame();
    offscreen.button(0, false);
    frame();
  };
  frame();
  click(50, 20);
  EXPECT_EQ(clicks, 1);
  click(150, 20);
  EXPECT_EQ(clicks, 1);

  offscreen.key(key_of('f'), true);
  frame();
  frame();
  EXPECT_EQ(presses, 1);
  offscreen.key(key_of('f'), false);
  offscreen.key(Key::left, true);
  offscreen.modifiers({.shift = true});
  frame();
  EXPECT_TRUE(held);
  EXPECT_EQ(with, (Modifiers{.shift = true}));
  offscreen.key(Key::left, false);
  offscreen.modifiers({});
  frame();
  EXPECT_FALSE(held);

  offscreen.wheel(0, 2);
  frame();
  frame();
  EXPECT_EQ(wheel, 2);

  click(50, 52);
  offscreen.text("aµb");
  frame();
  EXPECT_STREQ(text, "aµb");
  offscreen.key(Key::backspace, true);  // ImGui's own widgets receive the keys as well
  frame();
  EXPECT_STREQ(text, "aµ");
}

TEST(Offscreen, SeveralTakeTurns) {
  Offscreen one(40, 30, 1, no_fonts());
  {
    Offscreen two(20, 10, 1, no_fonts());
    int drawn_one = 0, drawn_two = 0;
    for (int i = 0; i < 3; ++i) {
      one.frame([&] { drawn_one += ImGui::GetIO().DisplaySize.x == 40; }, kBlack);
      two.frame([&] { drawn_two += ImGui::GetIO().DisplaySize.x == 20; }, kWhite);
    }
    EXPECT_EQ(drawn_one, 3);
    EXPECT_EQ(drawn_two, 3);
    EXPECT_EQ(ImGui::GetCurrentContext(), nullptr);
  }
  one.frame([] {}, kBlack);
  EXPECT_EQ(one.draw_data()->DisplaySize.x, 40);
}

TEST(Offscreen, HasScaleTimesThePixels) {
  Offscreen offscreen(40, 30, 2, no_fonts());
  const auto draw = [] {
    ImGui::GetBackgroundDrawList()->AddRectFilled({10, 5}, {20, 10}, kWhite);
  };
  const Image& image = offscreen.frame(draw, kBlack);
  EXPECT_EQ(image.width, 80);
  EXPECT_EQ(image.height, 60);
  EXPECT_EQ(pixel(image, 19, 10), kBlack);
  EXPECT_EQ(pixel(image, 20, 10), kWhite);
  EXPECT_EQ(pixel(image, 39, 19), kWhite);
  EXPECT_EQ(pixel(image, 40, 19), kBlack);
  offscreen.resize(50, 20);
  EXPECT_EQ(offscreen.frame(draw, kBlack).pixels.size(), 100u * 40);
}

TEST(Offscreen, RefusesSizesThatCannotBe) {
  EXPECT_THROW(Offscreen(0, 10), std::runtime_error);
  EXPECT_THROW(Offscreen(10, -1), std::runtime_error);
  EXPECT_THROW(Offscreen(20000, 10), std::runtime_error);
  EXPECT_THROW(Offscreen(10, 10, 0), std::runtime_error);
  EXPECT_THROW(Offscreen(10, 10, std::nanf("")), std::runtime_error);
}

TEST(Offscreen, OutlivesAnExceptionWhileDrawing) {
  Offscreen after(20, 10, 1, no_fonts());
  {
    Offscreen broken(20, 10, 1, no_fonts());
    const auto fail = [] {
      open_window("window");
      throw std::runtime_error("broken");
    };
    EXPECT_THROW(broken.frame(fail, kBlack), std::runtime_error);
    EXPECT_EQ(ImGui::GetCurrentContext(), nullptr);
  }
  EXPECT_EQ(after.frame([] {}, kWhite).pixels[0], kWhite);
}

}  // namespace
}  // namespace lockstep::gui

// Contrast: every glyph that the viewer draws, on what is really behind it, in both
// themes (WCAG 2.2, criterion 1.4.3: 4.5:1); and one meaning for one colour.
#include <algorithm>
#include <map>
#include <set>

#include "gui/render/rasterizer.h"
#include "tests/gui/app/driver.h"
#include "tests/sanitized.h"

namespace lockstep::gui {
namespace {

/// A glyph in a draw list: a textured quad with an area in the atlas.
struct Glyph {
  Rect area;
  ImU32 ink;
  Rect clip;
};

bool is_glyph(const ImDrawVert* v) {
  return v[0].uv.x != v[1].uv.x && v[1].uv.y != v[2].uv.y && v[0].pos.y == v[1].pos.y &&
         v[1].pos.x == v[2].pos.x;
}

/// Lists the glyphs of a frame and makes them invisible in it.
std::vector<Glyph> take_glyphs(const ImDrawData& data, const ImVec2& white) {
  std::vector<Glyph> glyphs;
  for (int n = 0; n < data.CmdListsCount; ++n) {
    ImDrawList& list = *data.CmdLists[n];
    for (const ImDrawCmd& command : list.CmdBuffer) {
      for (unsigned i = 0; i + 5 < command.ElemCount; i += 3) {
        const ImDrawIdx* index =
            &list.IdxBuffer[static_cast<int>(command.IdxOffset + i)];
        if (index[5] != index[0] + 3 || index[1] != index[0] + 1 ||
            index[2] != index[0] + 2 || index[3] != index[0]) {
          continue;
        }
        ImDrawVert* v = &list.VtxBuffer[static_cast<int>(command.VtxOffset + index[0])];
        if (v[0].uv.x == white.x || !is_glyph(v) || v[0].col >> 24 == 0) continue;
        glyphs.push_back(
            {{v[0].pos.x, v[0].pos.y, v[2].pos.x - v[0].pos.x, v[2].pos.y - v[0].pos.y},
             v[0].col,
             {command.ClipRect.x, command.ClipRect.y,
              command.ClipRect.z - command.ClipRect.x,
              command.ClipRect.w - command.ClipRect.y}});
        for (int k = 0; k < 4; ++k) v[k].col &= 0x00FFFFFF;
      }
    }
  }
  return glyphs;
}

/// Checks the glyphs of the current picture inside `part`.
void check_contrast(Driver& viewer, const std::string& name, Rect part = {}) {
  viewer.frame();
  const Image with = viewer.frame();
  if (part.w == 0) {
    part = {0, 0, static_cast<float>(with.width), static_cast<float>(with.height)};
  }
  Image behind = with;
  std::vector<Glyph> glyphs;
  viewer.screen.with_context([&] {
    ImDrawData& data = *ImGui::GetDrawData();
    glyphs = take_glyphs(data, ImGui::GetIO().Fonts->TexUvWhitePixel);
    rasterize(data, behind, viewer.app.theme().background);
  });
  struct Seen {
    int count = 0;
    Rect where;
    float ratio = 21;
  };
  std::map<std::pair<ImU32, ImU32>, Seen> pairs;
  size_t checked = 0;
  for (const Glyph& glyph : glyphs) {
    const ImVec2 c = glyph.area.centre();
    if (!glyph.clip.contains(c) || !part.contains(c)) continue;
    const auto pixel = [&](float x, float y) {
      const auto px = std::clamp(static_cast<int>(x), 0, behind.width - 1);
      const auto py = std::clamp(static_cast<int>(y), 0, behind.height - 1);
      return behind.pixels[static_cast<size_t>(py) * static_cast<size_t>(behind.width) +
                           static_cast<size_t>(px)];
    };
    const ImU32 ground = pixel(c.x, c.y);
    // A curve or the playhead crosses some glyphs: skip uneven grounds.
    if (pixel(glyph.area.x, c.y) != ground || pixel(glyph.area.right(), c.y) != ground)
      continue;
    const float alpha = static_cast<float>(glyph.ink >> 24) / 255;
    const ImU32 ink = mixed(ground, glyph.ink | 0xFF000000, alpha);
    Seen& seen = pairs[{ink, ground}];
    ++seen.count, ++checked;
    seen.where = glyph.area;
    seen.ratio = contrast(ink, ground);
  }
  EXPECT_GT(checked, 100u) << name;
  for (const auto& [colours, seen] : pairs) {
    if (seen.count < 3) continue;  // one that a mark or an edge touches
    EXPECT_GE(seen.ratio, kReadable)
        << name << ": " << seen.count << " glyphs such as the one at " << seen.where.x
        << ", " << seen.where.y << "; ink " << std::hex << (colours.first & 0xFFFFFF)
        << " on " << (colours.second & 0xFFFFFF) << " (BGR)";
  }
}

class Contrast : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (kSanitized && GetParam()) GTEST_SKIP() << "the light theme's code is the same";
  }
  void look(Driver& viewer, const std::string& name, Rect part = {}) {
    viewer.app.settings.dark = GetParam();
    check_contrast(viewer, name, part);
  }
};

TEST_P(Contrast, OfPlacesInTraces) {
  for (const auto& [trace, places] : std::map<std::string, std::vector<const char*>>{
           {"dp.json.gz", {"2", "2:replicate", "2:parallel_apply/conv2d", "2:reduce"}},
           {"ddp.json.gz", {"2:backward", "2:all_reduce", "2:loss"}},
           {"single.json.gz", {"2:forward", "2:backward/aten::conv2d"}}}) {
    for (const auto& [width, height] : {std::pair(1440, 900), {1024, 640}}) {
      Driver viewer(trace, width, height);
      for (const char* place : places) {
        std::string why;
        const auto at = parse_position(viewer.model(), place, why);
        if (!at) continue;
        viewer.app.go(*at);
        viewer.settled();
        look(viewer, trace + " at " + place);
        viewer.app.go(in_time_order(viewer.model(), *at));
        look(viewer, trace + " in time order at " + place);
      }
    }
  }
}

TEST_P(Contrast, OfTreesAndDrawers) {
  Driver viewer("dp.json.gz", 1440, 900);
  viewer.go("2:forward");
  viewer.app.settings.tree = viewer.app.settings.overlap = true;
  add_note(viewer.model(), viewer.app.trace().notes.placed,
           {viewer.app.trace().position, "here"});
  viewer.app.settings.search = "conv2d dev:1";
  viewer.app.trace().timeline.selected = {0, viewer.model().length / 2};
  for (const Drawer drawer :
       {Drawer::notes, Drawer::table, Drawer::hits, Drawer::range}) {
    viewer.app.settings.drawer = drawer;
    viewer.app.say("saved");
    look(viewer, "drawer " + std::to_string(static_cast<int>(drawer)));
  }
  viewer.app.settings.search = "bytes>many";
  look(viewer, "a wrong search");
  viewer.app.settings.drawer = Drawer::none;
  viewer.app.settings.tracks = true;
  look(viewer, "tracks");
}

TEST_P(Contrast, OfTheStartScreenAndSeveralTraces) {
  Driver empty("");
  empty.app.fail("poem.txt is not a trace");
  empty.app.recent = {"a.json", "b.json"};
  look(empty, "start");
  Driver several("dp.json.gz", 1440, 900);
  several.open("single.json.gz");
  look(several, "tabs");
  several.app.settings.compare = true;
  several.app.go(several.app.trace().position);
  look(several, "compare");
}

INSTANTIATE_TEST_SUITE_P(Themes, Contrast, testing::Values(true, false),
                         [](const auto& theme) {
                           return theme.param ? "dark" : "light";
                         });

TEST(ContrastRatio, IsWcags) {
  EXPECT_FLOAT_EQ(contrast(IM_COL32_BLACK, IM_COL32_WHITE), 21);
  EXPECT_FLOAT_EQ(contrast(IM_COL32_WHITE, IM_COL32_WHITE), 1);
  EXPECT_NEAR(contrast(IM_COL32(0x77, 0x77, 0x77, 255), IM_COL32_WHITE), 4.48, 0.01);
  for (int grey = 0; grey < 256; ++grey) {
    const ImU32 ground = IM_COL32(grey, grey / 2, 255 - grey, 255);
    EXPECT_GE(contrast(ink_on(ground), ground), kReadable) << grey;
    EXPECT_GE(contrast(readable(ground, ground), ground), kReadable) << grey;
  }
}

TEST(Colours, OneHasOneMeaning) {
  for (const Theme* theme : {&dark_theme(), &light_theme()}) {
    const Theme& t = *theme;
    std::set<ImU32> memory, data;
    for (size_t i = 0; i < std::size(tracer::memory_categories); ++i) {
      EXPECT_TRUE(memory.insert(memory_colour(t, i)).second)
          << tracer::memory_categories[i];
    }
    data = memory;
    for (const char* why :
         {reasons::replicate, reasons::reduce, reasons::scatter, reasons::gather,
          reasons::h2d, reasons::d2h, reasons::grad_scatter}) {
      data.insert(reason_colour(t, why));
    }
    data.insert(phase_colour(t, phases::backward));
    // What is current, arrows, waiting and calls are none of the data's colours.
    for (const ImU32 ui : {t.accent, t.arrow, t.waiting, t.host, t.warning}) {
      EXPECT_FALSE(data.contains(ui));
    }
    EXPECT_FALSE(memory.contains(phase_colour(t, phases::backward)));
    EXPECT_EQ(reason_colour(t, reasons::replicate), memory_colour(t, 0));  // parameters
    EXPECT_EQ(reason_colour(t, reasons::reduce), memory_colour(t, 1));     // gradients
    EXPECT_EQ(reason_colour(t, reasons::scatter), memory_colour(t, 4));    // inputs
    EXPECT_EQ(reason_colour(t, reasons::pull), memory_colour(t, 0));       // weights
    EXPECT_EQ(reason_colour(t, reasons::push), memory_colour(t, 1));
    EXPECT_EQ(reason_colour(t, reasons::activation), memory_colour(t, 3));
    EXPECT_EQ(reason_colour(t, reasons::activation_grad),
              phase_colour(t, phases::backward));
  }
}

}  // namespace
}  // namespace lockstep::gui

// What a window of a common size shows without scrolling: lanes, sliders, keys.
#include <set>

#include "gui/app/what_if.h"
#include "gui/panels/panels.h"
#include "gui/panels/timeline_parts.h"
#include "tests/gui/app/driver.h"

namespace lockstep::gui {
namespace {

/// Answers what the sliders ask, as the window's threads would.
void emulate(App& app, const std::string& question) {
  open_what_if(app, tracer::parse_what_if(question));
  take_what_if(app, WhatIfLab(what_if_source(app)).answer(app.what_if->question));
}

/// Returns how many devices have their lanes in the timeline.
int devices_shown(App& app) {
  const TimelineCache& cache = *app.trace().timeline.cache;
  int devices = 0;
  for (const Strip& strip : cache.layout.strips) {
    const bool first = strip.role == Strip::Role::stream && strip.members > 0;
    devices += first && strip.y + strip.row_height <= cache.plot.h + 0.5f;
  }
  return devices;
}

/// Presses the mouse at both ends of the tracks in two columns of the drawer and
/// returns the commands that the sliders then ask for.
std::set<std::string> commands_under_the_mouse(Driver& viewer) {
  std::set<std::string> commands;
  const auto question = viewer.app.what_if->question;
  const std::string own = what_if_command(viewer.app);
  for (const float x : {490.0f, 636.0f, 858.0f, 1005.0f}) {
    for (float y = 400; y < 640; y += 9) {
      viewer.screen.mouse(x, y);
      viewer.frame();
      viewer.screen.button(0, true);
      viewer.frame();
      viewer.frame();
      const std::string asked = what_if_command(viewer.app);
      if (asked != own) commands.insert(asked);
      viewer.app.what_if->question = question;
      viewer.screen.mouse(1, 899);  // released elsewhere: nothing is clicked
      viewer.screen.button(0, false);
      viewer.app.settings.drawer = Drawer::sliders;
      viewer.app.what_if->question = question;
      viewer.frame();
    }
  }
  return commands;
}

TEST(Layout, ADefaultWindowShowsFourDevices) {
  Driver recorded("dp.json.gz", 1440, 900);
  EXPECT_EQ(devices_shown(recorded.app), 4);
  for (const char* program : {"--mode ddp --devices 8", "--mode dp --devices 64"}) {
    for (const auto& [width, height] :
         {std::pair(1296, 810), {1440, 900}, {1920, 1080}}) {
      Driver viewer("single.json.gz", width, height);
      emulate(viewer.app, program);
      viewer.settled();
      EXPECT_GE(devices_shown(viewer.app), 4) << program << " at " << width;
    }
  }
}

TEST(Layout, ADefaultWindowShowsEverySlider) {
  Driver viewer("single.json.gz", 1440, 900);
  emulate(viewer.app, "--mode ddp --devices 8 --link-gb-per-s 3");
  viewer.settled();
  const WhatIfPanel& panel = *viewer.app.what_if;
  const std::set<std::string> reached = commands_under_the_mouse(viewer);
  const tracer::WhatIf own = *panel.question;
  size_t movable = 0;
  for (size_t i = 0; i < kKnobs; ++i) {
    const auto knob = static_cast<Knob>(i);
    const SliderFace face = face_of(knob, own, panel.room);
    if (!face.off.empty() || face.stops < 2) continue;
    ++movable;
    size_t found = 0;
    for (const size_t stop : {size_t{0}, face.stops - 1}) {
      viewer.app.what_if->question = with_stop(knob, stop, own, panel.room);
      found += stop != face.stop && reached.contains(what_if_command(viewer.app));
    }
    EXPECT_GT(found, 0u) << face.name;
  }
  EXPECT_GE(movable, 8u);
}

TEST(Layout, NoKeyIsCutInTheList) {
  for (const auto& [width, height] :
       {std::pair(1280, 720), {1440, 900}, {1920, 1080}}) {
    Driver viewer("dp.json.gz", width, height);
    const Ui ui(viewer.app.theme(), viewer.screen.fonts());
    const Rect screen{0, 0, static_cast<float>(width), static_cast<float>(height)};
    const HelpLayout layout = help_layout(ui, screen);
    EXPECT_TRUE(layout.fits) << width;
    EXPECT_GE(layout.card.y, 0) << width;
    EXPECT_LE(layout.card.bottom(), screen.bottom()) << width;
    size_t lines = 0;
    std::set<std::string> groups;
    for (const KeyHelp& key : key_help()) lines += groups.insert(key.group).second + 2u;
    EXPECT_EQ(layout.lines.size(), lines) << width;
    for (const HelpLayout::Line& line : layout.lines) {
      EXPECT_LE(ui.width(line.type, line.text), line.box.w) << line.text << width;
      EXPECT_LE(line.box.right(), layout.card.right()) << line.text << width;
      EXPECT_LE(line.box.bottom(), layout.card.bottom()) << line.text << width;
    }
  }
}

}  // namespace
}  // namespace lockstep::gui

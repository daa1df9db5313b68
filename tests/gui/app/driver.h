// A viewer without a window for tests: opens a trace of the repository, sends keys,
// clicks.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "gui/app/app.h"
#include "gui/render/offscreen.h"
#include "tracer/format/file_io.h"

namespace lockstep::gui {

inline std::string golden(const std::string& name) {
  return std::string(LOCKSTEP_SOURCE_DIR) + "/tests/golden/viewer/" + name;
}

class Driver {
 public:
  explicit Driver(const std::string& trace = "dp.json.gz", int width = 1280,
                  int height = 800)
      : screen(width, height), app(screen.fonts()) {
    if (!trace.empty()) open(trace);
    frame();
    frame();
  }

  void open(const std::string& trace) {
    const tracer::FileText text = tracer::open_file_text(golden(trace));
    app.begin_loading(trace, text.text, text.owner);
    app.finish_loading();
    app.move(Move::first);  // tests begin at the first event
  }

  const Image& frame(float seconds = 0) {
    return screen.frame(
        [&] {
          const ImVec2 size = ImGui::GetIO().DisplaySize;
          app.frame({0, 0, size.x, size.y}, seconds);
        },
        app.theme().background);
  }

  /// Draws frames until animations have finished.
  const Image& settled() {
    for (int i = 0; i < 4; ++i) frame(0.1f);
    return frame();
  }

  void press(Key key, Modifiers held = {}) {
    screen.modifiers(held);
    screen.key(key, true);
    frame();
    screen.key(key, false);
    screen.modifiers({});
    frame();
  }
  void press(char c, Modifiers held = {}) { press(key_of(c), held); }

  void click(float x, float y) {
    screen.mouse(x, y);
    frame();
    screen.button(0, true);
    frame();
    screen.button(0, false);
    frame();
  }

  const Model& model() { return *app.trace().model; }
  const Event& event() { return model().events[app.trace().state.event]; }
  const std::string& name() { return model().name_of(event()); }
  uint32_t place() { return event().order; }
  void go(const std::string& place) {
    std::string why;
    const auto position = parse_position(model(), place, why);
    ASSERT_TRUE(position) << why;
    app.go(*position);
    settled();
  }

  Offscreen screen;
  App app;
};

inline constexpr Modifiers kShift{false, true, false, false};

}  // namespace lockstep::gui

// Only the timeline, or another panel, in a window, with mouse and keys.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gui/panels/panels.h"
#include "gui/panels/timeline_parts.h"
#include "gui/render/offscreen.h"

namespace lockstep::gui::timeline {

inline std::string event(const char* cat, const std::string& name, int pid, int tid,
                         double ts, double dur, const std::string& args) {
  return R"({"ph":"X","cat":")" + std::string(cat) + R"(","name":")" + name +
         R"(","pid":)" + std::to_string(pid) + R"(,"tid":)" + std::to_string(tid) +
         R"(,"ts":)" + std::to_string(ts) + R"(,"dur":)" + std::to_string(dur) +
         R"(,"args":{)" + args + "}}";
}

inline std::string kernel(const std::string& name, int device, double ts, double dur,
                          const std::string& more = "") {
  return event("kernel", name, 1 + device, 0, ts, dur,
               R"("device":)" + std::to_string(device) + R"(,"stream":0)" + more);
}

inline Model model_of(const std::vector<std::string>& events) {
  std::string json;
  for (const std::string& text : events) json += (json.empty() ? "" : ",") + text;
  return load_model("made.json", R"({"traceEvents":[)" + json + "]}");
}

/// One step of 10 ms: a call on the host, and kernels on two devices.
inline Model small() {
  return model_of({
      event("phase", "step", 0, 0, 0, 10'000, R"("id":1,"step":0)"),
      event("op", "aten::conv2d", 0, 0, 100, 200, R"("id":2,"step":0)"),
      kernel("conv2d", 0, 1000, 2000, R"(,"id":3,"op":2)"),
      kernel("relu", 0, 4000, 500, R"(,"id":4,"op":2)"),
      event("op", "ConvolutionBackward0", 0, 0, 4600, 200, R"("id":5,"fwd":2)"),
      kernel("conv2d_backward_data", 1, 5000, 3000, R"(,"id":6,"op":5,"deps":[4])"),
  });
}

using Panel = std::function<void(const Ui&, const Rect&, App&)>;

class Stage {
 public:
  explicit Stage(Model model, int width = 1280, int height = 300,
                 Panel drawn = draw_timeline)
      : panel(std::move(drawn)), screen(width, height), app(screen.fonts()) {
    app.open(std::move(model));
    app.move(Move::first);  // tests begin at the first event
    frame();
  }

  const Image& frame() {
    return screen.frame(
        [&] {
          const ImVec2 size = ImGui::GetIO().DisplaySize;
          ImGui::SetNextWindowPos({0, 0});
          ImGui::SetNextWindowSize(size);
          ImGui::Begin("window", nullptr,
                       ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                           ImGuiWindowFlags_NoScrollWithMouse);
          timeline_keys(app);
          Ui ui(app.theme(), screen.fonts());
          ui.list = ImGui::GetWindowDrawList();
          const int before = ui.list->VtxBuffer.Size;
          panel(ui, {0, 0, size.x, size.y}, app);
          vertices = ui.list->VtxBuffer.Size - before;
          ImGui::End();
        },
        app.theme().background);
  }

  void move(float x, float y) {
    screen.mouse(x, y);
    frame();
  }
  void press(int button = 0) {
    screen.button(button, true);
    frame();
  }
  void release(int button = 0) {
    screen.button(button, false);
    frame();
  }
  void click(float x, float y) {
    move(x, y);
    press();
    release();
  }
  void drag(ImVec2 from, ImVec2 to, int button = 0) {
    move(from.x, from.y);
    press(button);
    move(to.x, to.y);
    release(button);
  }
  void wheel(float x, float y) {
    screen.wheel(x, y);
    frame();
  }
  void type(char key) {
    screen.key(key_of(key), true);
    frame();
    screen.key(key_of(key), false);
    frame();
  }

  OpenTrace& trace() { return app.trace(); }
  TimelineView& view() { return trace().timeline; }
  const TimelineCache& cache() { return *view().cache; }
  Scale scale() { return {view().from, view().to, cache().plot.x, cache().plot.w}; }
  uint32_t named(const std::string& name) {
    const Model& model = *trace().model;
    for (uint32_t i = 0; i < model.events.size(); ++i) {
      if (model.name_of(model.events[i]) == name) return i;
    }
    return kNoEvent;
  }
  /// The center of an event's box.
  ImVec2 where(uint32_t index) {
    const Event& e = trace().model->events[index];
    const Strip& strip = cache().layout.strips[cache().layout.strip_of_lane[e.lane]];
    return {scale().at(static_cast<double>(e.ts + e.dur / 2)),
            cache().plot.y + strip.y - view().scroll +
                static_cast<float>(e.row) * strip.pitch + strip.row_height / 2};
  }
  double time_at(float x) { return scale().ns(x); }

  const Panel panel;
  Offscreen screen;
  App app;
  int vertices = 0;
};

}  // namespace lockstep::gui::timeline

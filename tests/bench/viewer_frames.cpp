#include "tests/bench/viewer_frames.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gui/app/app.h"
#include "gui/render/offscreen.h"

namespace lockstep::bench {

namespace {

double cpu_ms() {
  timespec cpu{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  return 1e3 * static_cast<double>(cpu.tv_sec) +
         1e-6 * static_cast<double>(cpu.tv_nsec);
}

void print(const char* what, std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  fmt::print("{:<30} {:7.3f} ms median {:7.3f} ms 99 % {:7.3f} ms most\n", what,
             ms[ms.size() / 2], ms[ms.size() * 99 / 100], ms.back());
}

}  // namespace

void measure_frames(gui::Model model) {
  gui::Offscreen screen(1600, 900);
  gui::App app(screen.fonts());
  double begin = cpu_ms();
  app.open(std::move(model));
  fmt::print("{:<30} {:7.1f} ms\n", "open (means of all steps)", cpu_ms() - begin);

  double build = 0;
  const auto frame = [&] {
    screen.frame(
        [&] {
          const double start = cpu_ms();
          app.frame({0, 0, 1600, 900}, 0);
          build = cpu_ms() - start;
        },
        0);
  };
  frame();
  fmt::print("{:<30} {:7.1f} ms\n", "first frame (level of detail)", build);

  const gui::Model& trace = *app.trace().model;
  uint64_t random = 3;
  const auto next = [&] {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return random >> 20;
  };
  const auto anywhere = [&](const char* what, bool in_time_order) {
    std::vector<double> frames, moves;
    size_t most = 0;
    for (int i = 0; i < 400; ++i) {
      const auto event = static_cast<uint32_t>(next() % trace.events.size());
      gui::Position position = gui::at_event(trace, event);
      if (in_time_order) position = gui::in_time_order(trace, position);
      begin = cpu_ms();
      app.go(position);
      moves.push_back(cpu_ms() - begin);
      // From the whole trace down to a microsecond.
      const double zoom = static_cast<double>(next() % 1000) / 1000;
      const double wide = static_cast<double>(trace.length) *
                          std::pow(1e3 / static_cast<double>(trace.length), zoom);
      gui::TimelineView& view = app.trace().timeline;
      view.follow = false;
      view.from = static_cast<double>(trace.events[event].ts) - wide / 2;
      view.to = view.from + wide;
      frame();
      frames.push_back(build);
      most = std::max(most, view.primitives);
    }
    print(what, frames);
    print("  a step to anywhere", moves);
    fmt::print("{:<30} {:7}\n", "  timeline primitives, at most", most);
  };
  anywhere("draw lists of all panels", false);

  app.settings.tracks = true;
  frame();
  fmt::print("{:<30} {:7.1f} ms\n", "first frame with tracks", build);
  anywhere("with tracks, as queued", false);
  app.go(gui::in_time_order(trace, app.trace().position));
  frame();
  fmt::print("{:<30} {:7.1f} ms\n", "first frame in time order", build);
  anywhere("with tracks, in time order", true);

  app.settings.drawer = gui::Drawer::table;
  anywhere("… and the table of the step", true);
  begin = cpu_ms();
  app.take_why(trace.text.data(), gui::analyse(gui::why_source(trace)));
  fmt::print("{:<30} {:7.1f} ms\n", "why not 4x?", cpu_ms() - begin);
  app.settings.why = true;
  anywhere("… and the longest path", true);
}

}  // namespace lockstep::bench

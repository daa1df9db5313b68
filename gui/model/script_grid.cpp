// The script of a pipeline's grid, in time order: it fills, works and drains.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "gui/model/script.h"

namespace lockstep::gui {

namespace {

using tracer::Pipeline;
using tracer::PipelineDevice;

constexpr double kGridSeconds = 24, kLeastGridPart = 4;

/// Returns the share of all devices' time from `begin` to `end` in which passes run.
std::string passes_run(const Pipeline& grid, int64_t begin, int64_t end) {
  int64_t running = 0;
  for (const PipelineDevice& device : grid.devices) {
    for (const tracer::PipelinePiece& piece : device.pieces) {
      if (piece.slot != tracer::Slot::pass) continue;
      running +=
          std::max<int64_t>(0, std::min(end, piece.end) - std::max(begin, piece.begin));
    }
  }
  const auto whole = static_cast<int64_t>(grid.devices.size()) * (end - begin);
  return fmt::format(
      "passes run in **{}** of the devices' time",
      percent(static_cast<double>(running) / static_cast<double>(whole)));
}

/// When a device begins its first pass, or ends its last one.
struct Turn {
  int64_t ts = 0;
  size_t device = 0;
};

Turn last_to_begin(const Pipeline& grid) {
  Turn turn{grid.begin, 0};
  for (size_t i = 0; i < grid.devices.size(); ++i) {
    if (grid.devices[i].passes.empty()) continue;
    const int64_t begin = grid.passes[grid.devices[i].passes.front()].begin;
    if (begin > turn.ts) turn = {begin, i};
  }
  return turn;
}

Turn first_to_end(const Pipeline& grid) {
  Turn turn{grid.end, 0};
  for (size_t i = 0; i < grid.devices.size(); ++i) {
    int64_t end = grid.begin;
    for (const uint32_t pass : grid.devices[i].passes) {
      end = std::max(end, grid.passes[pass].end);
    }
    if (!grid.devices[i].passes.empty() && end < turn.ts) turn = {end, i};
  }
  return turn;
}

}  // namespace

Script script_of_grid(const Pipeline& grid, const PipelinePlaces& places, size_t step,
                      int rank) {
  Script script{step, rank, {}, true};
  const Turn filled = last_to_begin(grid), drained = first_to_end(grid);
  const auto name = [&](const Turn& turn) {
    return fmt::format("device {}", grid.devices[turn.device].device);
  };
  int64_t at = grid.begin;
  const auto add = [&](int64_t end, const std::string& caption) {
    if (end <= at) return;
    Shot shot;
    shot.kind = Shot::Kind::time;
    shot.begin = at + places.offset, shot.end = end + places.offset;
    shot.seconds =
        std::max(kLeastGridPart, kGridSeconds * static_cast<double>(end - at) /
                                     static_cast<double>(grid.length()));
    shot.caption = fmt::format("{}; {}.", caption, passes_run(grid, at, end));
    shot.view = {grid.begin + places.offset, grid.end + places.offset};
    script.shots.push_back(std::move(shot));
    at = end;
  };
  add(std::min(filled.ts, drained.ts),
      fmt::format("**The pipeline fills** for {}, until {} begins its first pass",
                  human_time(filled.ts - grid.begin), name(filled)));
  add(std::max(filled.ts, drained.ts),
      filled.ts <= drained.ts
          ? "**Every device has begun, none has ended**"
          : fmt::format("**{} has ended** its last pass, {} has not begun",
                        name(drained), name(filled)));
  add(grid.end, fmt::format("**The pipeline drains** for {}: {} was the first to end",
                            human_time(grid.end - drained.ts), name(drained)));
  return script;
}

}  // namespace lockstep::gui

#include "gui/model/pipeline_places.h"

#include <algorithm>
#include <map>
#include <string>

namespace lockstep::gui {

namespace {

using tracer::Pipeline;
using tracer::PipelinePiece;
using tracer::Slot;

constexpr std::string_view kRange = "PP:";

/// Where an event of each name begins.
using Starts = std::map<std::string, std::map<int64_t, uint32_t>, std::less<>>;

Starts ranges_of(const Model& model) {
  Starts starts;
  for (uint32_t i = 0; i < model.events.size(); ++i) {
    const Event& event = model.events[i];
    if (event.is_task() || !model.name_of(event).starts_with(kRange)) continue;
    starts[model.name_of(event)].emplace(event.ts, i);
  }
  return starts;
}

std::string range_name(const tracer::PipelinePass& pass) {
  return std::string(kRange) + plan::to_text(pass.action);
}

/// Finds the passes of a profiler's file, whose events have no ids: at the offset at
/// which every one of them begins with a range of its name.
bool find_ranges(const Model& model, const Pipeline& pipeline, PipelinePlaces& places) {
  const Starts starts = ranges_of(model);
  const auto first = starts.find(range_name(pipeline.passes[0]));
  if (first == starts.end()) return false;
  for (const auto& [ts, event] : first->second) {
    places.offset = ts - pipeline.passes[0].host_begin;
    bool all = true;
    for (size_t i = 0; i < pipeline.passes.size() && all; ++i) {
      const auto named = starts.find(range_name(pipeline.passes[i]));
      all = named != starts.end();
      if (!all) break;
      const auto at = named->second.find(pipeline.passes[i].host_begin + places.offset);
      all = at != named->second.end();
      if (all) places.events[i] = at->second;
    }
    if (all) return true;
  }
  return false;
}

bool find_ids(const Model& model, const Pipeline& pipeline, PipelinePlaces& places) {
  for (size_t i = 0; i < pipeline.passes.size(); ++i) {
    const tracer::PipelinePass& pass = pipeline.passes[i];
    const uint32_t event = model.event_of_id(pass.event);
    if (event == kNoEvent || model.events[event].dur != pass.host_end - pass.host_begin)
      return false;
    places.events[i] = event;
    if (i == 0) places.offset = model.events[event].ts - pass.host_begin;
  }
  return true;
}

void add_boxes(const Pipeline& pipeline, const tracer::PipelineDevice& device,
               PipelineRow& row) {
  const int64_t least = pipeline.length() / kFinest;
  for (const uint32_t i : device.passes) {
    const tracer::PipelinePass& pass = pipeline.passes[i];
    const bool joins = !row.boxes.empty() && pass.end - pass.begin < least &&
                       pass.end - row.boxes.back().begin < least;
    if (!joins) {
      row.boxes.push_back({pass.begin, pass.end, i, 1});
      continue;
    }
    row.boxes.back().end = std::max(row.boxes.back().end, pass.end);
    ++row.boxes.back().count;
  }
  for (const PipelinePiece& piece : device.pieces) {
    if (piece.slot != Slot::pass && piece.end - piece.begin >= least) {
      row.idle.push_back(piece);
    }
  }
}

void add_live(const Pipeline& pipeline, size_t device, PipelineRow& row) {
  std::vector<std::pair<int64_t, int>> changes;
  for (const tracer::PipelineStage& stage : pipeline.stages) {
    if (stage.device != device) continue;
    int before = 0;
    for (const auto& [ts, count] : stage.live) {
      changes.emplace_back(ts, count - before);
      before = count;
    }
  }
  std::sort(changes.begin(), changes.end());
  int live = 0;
  for (const auto& [ts, change] : changes) {
    live += change;
    row.most_live = std::max(row.most_live, live);
    if (!row.live.empty() && row.live.back().first == ts) row.live.pop_back();
    row.live.emplace_back(ts, live);
  }
}

}  // namespace

PipelinePlaces place(const Model& model, const Pipeline& pipeline) {
  PipelinePlaces places;
  places.events.assign(pipeline.passes.size(), kNoEvent);
  if (pipeline.passes.empty()) return places;
  if (!find_ids(model, pipeline, places)) {
    std::fill(places.events.begin(), places.events.end(), kNoEvent);
    if (!find_ranges(model, pipeline, places)) {
      std::fill(places.events.begin(), places.events.end(), kNoEvent);
    }
  }
  places.rows.resize(pipeline.devices.size());
  for (size_t device = 0; device < pipeline.devices.size(); ++device) {
    add_boxes(pipeline, pipeline.devices[device], places.rows[device]);
    add_live(pipeline, device, places.rows[device]);
  }
  return places;
}

uint32_t pass_of(const PipelinePlaces& places, const std::vector<uint32_t>& stack) {
  for (const uint32_t event : stack) {
    const auto found = std::find(places.events.begin(), places.events.end(), event);
    if (found != places.events.end()) {
      return static_cast<uint32_t>(found - places.events.begin());
    }
  }
  return tracer::kNoPass;
}

}  // namespace lockstep::gui

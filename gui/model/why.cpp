#include "gui/model/analyse.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/units.h"
#include "gui/model/details.h"
#include "gui/model/servers.h"
#include "tracer/analysis/shared_updates.h"
#include "tracer/analysis/summary_paths.h"
#include "tracer/format/file_io.h"
#include "tracer/kineto/kineto.h"

namespace lockstep::gui {

namespace {

constexpr const char* kRanks = "waiting for ranks";
constexpr const char* kHostWork = "host";
constexpr const char* kBucketCopies = "bucket copies";

std::vector<PathSegment> merged_segments(const Model& model,
                                         const std::vector<tracer::PathPiece>& pieces) {
  std::vector<PathSegment> path;
  for (const tracer::PathPiece& piece : pieces) {
    const uint32_t event = model.event_of_id(piece.event);
    if (event == kNoEvent) continue;
    const int64_t end = model.events[event].ts + piece.offset;
    const bool same = !path.empty() && path.back().what == piece.what &&
                      model.events[path.back().event].lane == model.events[event].lane;
    if (!same) {
      path.push_back({event, event, piece.what, end - piece.nanoseconds, end, 0, 0});
    }
    PathSegment& own = path.back();
    own.last = event;
    own.end = std::max(own.end, end);
    own.time += piece.nanoseconds;
    ++own.pieces;
  }
  return path;
}

std::vector<SharedVersion> versions_of(const Model& model,
                                       const std::map<int64_t, int64_t>& updates) {
  std::vector<SharedVersion> versions;
  for (const auto& [id, version] : updates) {
    const uint32_t event = model.event_of_id(id);
    if (event != kNoEvent) versions.push_back({model.events[event].end(), version});
  }
  std::ranges::sort(versions, {}, &SharedVersion::ts);
  for (size_t i = 1; i < versions.size(); ++i) {  // an earlier one may end later
    versions[i].version = std::max(versions[i].version, versions[i - 1].version);
  }
  return versions;
}

std::string runs_on(const Model& model, const Event& event) {
  const Lane& lane = model.lanes[event.lane];
  if (!lane.is_host()) return fmt::format("device {}", model.devices[lane.device].id);
  return model.ranks() > 1 ? rank_title(model, lane.rank) + "'s host" : "the host";
}

std::string end_of_copy(const Model& model, int device) {
  if (device == kHostDevice) return "the host";
  return fmt::format("device {}", model.devices[device].id);
}

}  // namespace

const tracer::StepSummary* Why::step(uint32_t number) const {
  for (const tracer::StepGroup* group : {&summary.train, &summary.eval}) {
    for (const tracer::StepSummary& step : group->steps) {
      if (step.step == int64_t{number}) return &step;
    }
  }
  return nullptr;
}

const tracer::Pipeline* Why::pipeline(const Model& model, size_t number) const {
  if (!problem.empty() || number >= pipelines.size()) return nullptr;
  const tracer::StepSummary* own = step(model.steps[number].number);
  return own == nullptr ? nullptr : own->pipeline.get();
}

int64_t Why::version_at(int64_t ts) const {
  const auto after = std::ranges::upper_bound(versions, ts, {}, &SharedVersion::ts);
  return after == versions.begin() ? tracer::kNone : std::prev(after)->version;
}

const tracer::Split& Why::mean_of(const tracer::StepSummary& step) const {
  const auto& evals = summary.eval.steps;
  const bool eval = !evals.empty() && &step >= &evals.front() && &step <= &evals.back();
  return eval ? mean_eval : mean_train;
}

WhySource why_source(const Model& model) {
  return {model.text, model.owned, model.name};
}

WhyAnalysis analyse(const WhySource& source) {
  Work work;
  return analyse(source, work);
}

WhyAnalysis analyse(const WhySource& source, Work& work) {
  WhyAnalysis analysis;
  try {
    work.now("reading the trace");
    const tracer::Trace trace =
        tracer::open_text({source.text, source.owned}, source.name, work);
    analysis.why.summary = tracer::summarize(trace, work, analysis.pieces);
    analysis.why.limit = tracer::limiting_cause(analysis.why.summary);
    analysis.why.warm_up = tracer::warm_up_sentence(analysis.why.summary.train);
    analysis.why.mean_train = analysis.why.summary.train.mean_split();
    analysis.why.mean_eval = analysis.why.summary.eval.mean_split();
    for (const tracer::SharedUpdate& update : tracer::find_shared_updates(trace)) {
      analysis.updates[update.event->id] = update.version;
    }
  } catch (const std::exception& failure) {
    analysis.why.problem = failure.what();
  }
  return analysis;
}

std::shared_ptr<const Why> placed(const Model& model, WhyAnalysis analysis) {
  auto why = std::make_shared<Why>(std::move(analysis.why));
  why->versions = versions_of(model, analysis.updates);
  why->paths.resize(model.steps.size());
  why->pipelines.resize(model.steps.size());
  for (size_t i = 0; i < model.steps.size(); ++i) {
    const auto pieces = analysis.pieces.find(model.steps[i].number);
    if (pieces != analysis.pieces.end()) {
      why->paths[i] = merged_segments(model, pieces->second);
    }
    const tracer::StepSummary* step = why->step(model.steps[i].number);
    if (step != nullptr && step->pipeline != nullptr) {
      why->pipelines[i] = place(model, *step->pipeline);
    }
  }
  return why;
}

size_t segment_at(const std::vector<PathSegment>& path, int64_t ts) {
  const auto after = std::upper_bound(
      path.begin(), path.end(), ts,
      [](int64_t t, const PathSegment& segment) { return t < segment.begin; });
  return after == path.begin() ? 0 : static_cast<size_t>(after - path.begin()) - 1;
}

std::string cause_of(const Model& model, const PathSegment& segment) {
  const Event& event = model.events[segment.event];
  const std::string& name = model.name_of(event);
  const std::string place = runs_on(model, event);
  if (segment.what == kHostWork) {
    const std::string& last = model.name_of(model.events[segment.last]);
    const std::string calls =
        last == name ? "in " + name : fmt::format("from {} to {}", name, last);
    return fmt::format("{} works, {}; what follows waits for it", place, calls);
  }
  if (segment.what == tracer::kWaitingForGpu) {
    return fmt::format("{} could start on {}, but waits for the GPU", name, place);
  }
  if (segment.what == tracer::kWaitingForCore) {
    return fmt::format("{} could start on {}, but no core is free", name, place);
  }
  if (segment.what == kRanks) {
    return fmt::format("{} on {} waits until other ranks join", name, place);
  }
  if (segment.what == kBucketCopies) {
    return fmt::format("{} copies gradients to or from DDP's buckets ({})", place,
                       name);
  }
  if (const Copy* copy = model.copy_of(segment.event)) {
    return fmt::format("{} to {}: {} for {}", end_of_copy(model, copy->src),
                       end_of_copy(model, copy->dst), human_bytes(copy->bytes),
                       segment.what);
  }
  if (event.what() == Kind::collective) {
    return fmt::format("{} is in the collective {}", place, name);
  }
  const std::string kernels =
      segment.pieces == 1
          ? name
          : fmt::format("{} kernels from {} to {}", segment.pieces, name,
                        model.name_of(model.events[segment.last]));
  return fmt::format("{} runs {}, of {}", place, kernels, segment.what);
}

}  // namespace lockstep::gui

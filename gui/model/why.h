// Why N devices are not N times as fast: what `tracer/analysis` says of a whole trace,
// with the longest path of each step as places in the Model.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/model.h"
#include "gui/model/pipeline_places.h"
#include "tracer/analysis/summary.h"
#include "tracer/emulate/longest_path.h"

namespace lockstep::gui {

/// Consecutive pieces of the longest path on one lane with one cause.
struct PathSegment {
  uint32_t event = 0;  ///< of its first piece
  uint32_t last = 0;   ///< … and of its last one
  std::string
      what;  ///< `host`, `waiting for a core` (`the GPU`), a phase, a copy's reason
  int64_t begin = 0;  ///< ns since the trace's first event, as recorded
  int64_t end = 0;
  int64_t time = 0;  ///< ns of its pieces; less than the extent if there are gaps
  uint32_t pieces = 0;
};

/// A version of a model that workers share, and when its update ended (ns).
struct SharedVersion {
  int64_t ts = 0, version = 0;
};

struct Why {
  tracer::Summary summary;
  /// By index into Model::steps; empty where the path is unknown.
  std::vector<std::vector<PathSegment>> paths;
  std::vector<PipelinePlaces> pipelines;  ///< by index into Model::steps
  std::string problem;                    ///< why the trace cannot be analysed; else ""
  std::string limit;                      ///< tracer::limiting_cause
  std::string warm_up;                    ///< tracer::warm_up_sentence
  tracer::Split mean_train, mean_eval;
  /// Of a model in host memory (hogwild, locked); sorted by ts.
  std::vector<SharedVersion> versions;

  /// Returns the newest version that is complete at `ts`, or kNone if that is unknown.
  int64_t version_at(int64_t ts) const;
  /// Returns what the summary says of a step, or nullptr: it was interrupted, …
  const tracer::StepSummary* step(uint32_t number) const;
  /// Returns the pipeline of a step of the Model, or nullptr.
  const tracer::Pipeline* pipeline(const Model& model, size_t step) const;
  /// Returns the mean of all steps of the same kind.
  const tracer::Split& mean_of(const tracer::StepSummary& step) const;
};

/// What the analysis needs of a Model: it may run while others use the Model.
struct WhySource {
  std::string_view text;
  std::shared_ptr<const void> owned;  ///< keeps the text alive, if not null
  std::string name;
};
WhySource why_source(const Model& model);

/// The result before its paths have a place in the Model: events are known by their
/// ids.
struct WhyAnalysis {
  Why why;
  std::map<int64_t, std::vector<tracer::PathPiece>> pieces;  ///< by step number
  std::map<int64_t, int64_t> updates;  ///< event id → the version that it made
};

/// Reads the text again and summarizes it: takes seconds for millions of events. Never
/// throws.
WhyAnalysis analyse(const WhySource& source);
std::shared_ptr<const Why> placed(const Model& model, WhyAnalysis analysis);

/// Traces of at most this many events are analysed when they are opened.
inline constexpr size_t kAnalysedAtOnce = 60'000;

/// Returns the segment of a path to show at `ts`: the last one that began, or the
/// first.
size_t segment_at(const std::vector<PathSegment>& path, int64_t ts);

/// Returns the cause of a segment in words: "conv2d could start on device 2, but no
/// core is free" or, on GPUs, "… but waits for the GPU".
std::string cause_of(const Model& model, const PathSegment& segment);

}  // namespace lockstep::gui

// A step's pipeline (tracer/analysis/pipeline.h) as places in the Model, and what of it
// is large enough to be drawn.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "gui/model/model.h"
#include "tracer/analysis/pipeline.h"

namespace lockstep::gui {

/// One row of the drawing.
struct PipelineRow {
  /// Passes from first to last kernel; several that are too short to be seen are one.
  struct Box {
    int64_t begin = 0, end = 0;
    uint32_t pass = 0;   ///< the first of them
    uint32_t count = 1;  ///< how many
  };
  std::vector<Box> boxes;                     ///< by begin
  std::vector<tracer::PipelinePiece> idle;    ///< by begin; the short ones are left out
  std::vector<std::pair<int64_t, int>> live;  ///< of all its stages, from each time on
  int most_live = 0;
};

struct PipelinePlaces {
  std::vector<uint32_t> events;   ///< by pass: the host's event, or kNoEvent
  int64_t offset = 0;             ///< ns, from the analysis's clock to the Model's
  std::vector<PipelineRow> rows;  ///< by device
};

/// What lasts less than this part of the grid is not drawn on its own.
inline constexpr int64_t kFinest = 4000;

PipelinePlaces place(const Model& model, const tracer::Pipeline& pipeline);

/// Returns the number of the pass that an event, or one of its callers, belongs to;
/// tracer::kNoPass if there is none. `stack` is State::stack.
uint32_t pass_of(const PipelinePlaces& places, const std::vector<uint32_t>& stack);

}  // namespace lockstep::gui

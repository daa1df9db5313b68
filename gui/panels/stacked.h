// The step of each compared trace, one above the other on one time scale: the phases as
// bands, what the devices did below them, and between two traces the change of each
// phase that both have.
#pragma once

#include <vector>

#include "gui/app/app.h"
#include "gui/model/step_lanes.h"
#include "gui/ui/ui.h"

namespace lockstep::gui {

/// Returns the lanes of the step at the trace's position; computed once per step.
const StepLanes& lanes_here(OpenTrace& trace);

/// Returns the name by which a compared trace is told from the others: its mode or, if
/// another has the same, its file's name or, if another has that, too, its folder's.
std::string compared_name(const std::vector<OpenTrace*>& traces, size_t index);

/// How much of the traces is shown.
struct StackedFit {
  int rows = kMostPhaseRows;  ///< of phases, at most; the first has the main ones
  bool own = false;           ///< two lanes for each device; else for each trace
  bool transfers = true;      ///< the second lane of a trace
};

/// From the most to the least. Phases are worth more than transfers: what overlaps, as
/// ddp's forward and backward on different ranks, needs a second row.
inline constexpr StackedFit kStackedFits[] = {{kMostPhaseRows, true, true},
                                              {kMostPhaseRows, false, true},
                                              {2, false, true},
                                              {2, false, false},
                                              {1, false, false}};

/// Returns the height that the panel needs.
float stacked_height(const std::vector<OpenTrace*>& traces, const StackedFit& fit);
/// Returns the most that fits into a height, or the least if nothing does.
StackedFit stacked_fit(const std::vector<OpenTrace*>& traces, float height);

/// Where one trace is drawn.
struct StackedBlock {
  Rect labels;         ///< left of the plot; a click selects the trace
  Rect bands;          ///< the rows of phases
  Rect lanes;          ///< below them
  float per_ns = 0;    ///< points
  int64_t length = 0;  ///< ns
  float x(int64_t time) const { return bands.x + static_cast<float>(time) * per_ns; }
};

struct StackedLayout {
  Rect axis;
  StackedFit fit;
  std::vector<StackedBlock> blocks;
};

/// Places the traces inside a card, below each other; the longest step is as wide as
/// the plot.
StackedLayout lay_out_stacked(const Rect& inside,
                              const std::vector<OpenTrace*>& traces);

void draw_stacked(const Ui& ui, const Rect& area, App& app,
                  const std::vector<OpenTrace*>& traces);

}  // namespace lockstep::gui

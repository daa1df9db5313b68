// The director's script of a training step: which events are shown, in which order, for
// how long, and what is said meanwhile. A pure function of the trace, so that a film of
// a step is always the same.
//
// Each phase gets a share of the time. In it, the first operation of each name plays in
// full; further ones pass quickly and are counted. What runs on several devices at once
// is shown in time order, with its slow-down. Times of null devices have no meaning,
// and steps of other programs have no phases: the former are shown in program order
// alone, the latter in time order alone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gui/model/pipeline_places.h"
#include "gui/model/position.h"

namespace lockstep::gui {

/// The length of a script in seconds, unless the step has too few events to fill it.
inline constexpr double kStepSeconds = 45;

struct Shot {
  enum class Kind : uint8_t {
    hold,   ///< one event, while its copies move
    sweep,  ///< the events of a range of the program, one after the other
    time,   ///< a time range, in time order
  };
  Kind kind = Kind::hold;
  bool repeats = false;          ///< a sweep over operations that were shown before
  bool still = false;            ///< a hold of an event whose copies are shown later
  uint32_t first = 0, last = 0;  ///< places in the program that it stands for: [first,
                                 ///< last); a hold shows the event at `first`
  int64_t begin = 0, end = 0;    ///< ns since the trace's first event; of Kind::time
  double seconds = 0;
  uint32_t phase = kNoEvent;  ///< the innermost phase or step that it belongs to
  std::string caption;        ///< said instead of a narration, if not empty
  uint32_t says = kNoEvent;   ///< the event that is narrated, if there is no caption
  std::pair<int64_t, int64_t> view{0, 0};  ///< ns that the timeline shows

  /// Returns the nanoseconds of the trace per second of film; 0 in program order.
  double rate() const;
};

struct Script {
  size_t step = 0;
  int rank = 0;
  std::vector<Shot> shots;
  bool grid = false;  ///< of a pipeline's grid
  double seconds() const;
};

/// Returns the script of a step, as a rank's program tells it. Walks the step's events.
Script script_of(const Model& model, size_t step, int rank);

/// Returns the script of a step's grid: how it fills, works and drains.
Script script_of_grid(const tracer::Pipeline& grid, const PipelinePlaces& places,
                      size_t step, int rank);

/// Returns the shot that is shown after `seconds` of the script, and the share of it
/// that has passed. REQUIRES: the script has a shot.
std::pair<const Shot*, double> shot_at(const Script& script, double seconds);

/// Returns the position after `seconds`: at most the end of the last shot.
Position position_at(const Model& model, const Script& script, double seconds);

/// Returns when the script arrives at a position of its step: at the beginning of a
/// shot that holds it, or inside the one that passes it.
double seconds_at(const Model& model, const Script& script, const Position& position);

/// Returns "1/40 of real time" for 25,000,000 ns per second, or "4x real time"; of an
/// emulated trace, "1/40 of emulated time".
std::string rate_in_words(const Model& model, double rate);

}  // namespace lockstep::gui

// Where the director is in its script. Plain data of an open trace.
//
// A script is a function of the trace, the step and the rank, and is kept until another
// one is needed. The place in it is found from the position if the user has moved.
#pragma once

#include <string>

#include "gui/model/script.h"

namespace lockstep::gui {

struct OpenTrace;
struct Transport;
enum class Pace : uint8_t;

struct Director {
  Script script;       ///< empty until the director first plays
  bool grid = false;   ///< plays the pipeline's grid where a step has one
  double seconds = 0;  ///< the place in the script
  Position shown;      ///< the position at that place

  /// Returns true if the user has not moved since.
  bool is_at(const Position& position) const {
    return !script.shots.empty() && position.order == shown.order &&
           (position.order == Order::time ? position.time == shown.time
                                          : position.place == shown.place) &&
           position.rank == shown.rank;
  }
  bool has_ended() const { return seconds >= script.seconds(); }
};

// ---- Playing

/// Advances the director's script by `seconds`, scaled by the speed, and returns the
/// new position. If the user has moved, continues from the trace's position. At the
/// end of the step, loops or stops playback; once stopped, the next call begins the
/// next step.
Position directed(OpenTrace& trace, Transport& transport, float seconds);

/// Moves the timeline towards what the current shot shows.
void direct_timeline(OpenTrace& trace, float seconds);

/// What is said while the director plays: `text` or, if it is empty, the narration of
/// the event `says`; neither if the director does not play.
struct Caption {
  std::string text;
  uint32_t says = kNoEvent;
};
Caption caption_now(const OpenTrace& trace, const Transport& transport);

/// Returns "director · 1×", or "director · 1/40 of real time" in time order.
std::string pace_text(const OpenTrace& trace, const Transport& transport);

/// Returns the pace that follows: director, even, real time.
Pace next_pace(Pace pace);

}  // namespace lockstep::gui

// Playback: advances a position with time.
#pragma once

#include "gui/model/position.h"

namespace lockstep::gui {

/// How playback maps time to events. Most events last only microseconds.
enum class Pace : uint8_t {
  even,  ///< every event takes the same time
  real,  ///< real time, multiplied by `speed`
};

struct Transport {
  bool playing = false;
  bool loop = false;  ///< repeat the same training step
  Pace pace = Pace::even;
  float speed = 1;
};

/// Events per second at an even pace and a speed of 1.
inline constexpr float kEvenRate = 4;

/// Returns the position after `seconds`. Stops playback at the end of the trace.
Position played(const Model& model, const Position& from, Transport& transport,
                float seconds);

/// Halves or doubles the speed, between 1/1024 and 1024.
void change_speed(Transport& transport, bool faster);

/// Returns "1×" or "1/8×".
std::string speed_text(const Transport& transport);

}  // namespace lockstep::gui

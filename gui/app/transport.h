// Playing: how a position moves while time passes.
#pragma once

#include "gui/model/position.h"

namespace lockstep::gui {

/// Most events last microseconds, so there are two ways to play.
enum class Pace : uint8_t {
  even,  ///< every event takes the same time on the screen
  real,  ///< as fast as it was, times `speed`
};

struct Transport {
  bool playing = false;
  bool loop = false;  ///< play the same training step again and again
  Pace pace = Pace::even;
  float speed = 1;
};

/// Events per second at an even pace and speed 1.
inline constexpr float kEvenRate = 4;

/// The position `seconds` later. Stops playing at the trace's end.
Position played(const Model& model, const Position& from, Transport& transport,
                float seconds);

/// Half as fast, or twice; held between 1/1024 and 1024.
void change_speed(Transport& transport, bool faster);

/// "1×", "1/8×"
std::string speed_text(const Transport& transport);

}  // namespace lockstep::gui

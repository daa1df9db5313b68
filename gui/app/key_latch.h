// Input between two frames: no key tap is lost, however short, and a window in which
// nothing moves sleeps. Pure: the window's callbacks and loop call it.
#pragma once

#include <deque>
#include <set>

#include "gui/render/imgui_compat.h"

namespace lockstep::gui {

/// Key presses as they arrived. ImGui sees only which keys are down at the beginning of
/// a frame, so a key that is pressed and released between two frames would be lost: the
/// latch hands over at most one press per frame, and its release in a later one.
class KeyLatch {
 public:
  /// Adds a press or release of a key, by GLFW's code.
  void key(int code, bool down) { waiting_.push_back({code, down, 0}); }
  /// Adds a character that was typed, after the key that produced it.
  void character(unsigned point) { waiting_.push_back({0, false, point}); }

  /// Hands the input of the next frame to ImGui, before its NewFrame. Returns true if
  /// more is waiting for further frames.
  bool feed(ImGuiIO& io);

 private:
  struct Input {
    int code;
    bool down;
    unsigned character;  ///< 0 for a key
  };

  std::deque<Input> waiting_;
  std::set<int> modifiers_;  ///< codes of the modifiers that are down
};

/// Decides when a frame is drawn: a few after each input, as ImGui needs some to
/// settle, continuously while something moves and a few after it, and none otherwise.
class Pacing {
 public:
  void wake() { frames_ = kFrames; }
  /// Returns the seconds to wait for input; 0: do not wait. `moves`: an animation runs;
  /// `types`: a text field's cursor blinks.
  double wait(bool moves, bool types) {
    note(moves);
    return moves || frames_ > 0 ? 0 : types ? kBlink : kLong;
  }
  /// Returns true if a frame must be drawn after that wait.
  bool draws(bool moves, bool types) {
    note(moves);
    if (frames_ > 0) return frames_--, true;
    return moves || types;
  }

 private:
  /// What has just ended, as a background task, may have left something to draw.
  void note(bool moves) {
    if (moved_ && !moves) wake();
    moved_ = moves;
  }

  static constexpr int kFrames = 3;
  static constexpr double kBlink = 0.4, kLong = 10;
  int frames_ = kFrames;
  bool moved_ = false;
};

}  // namespace lockstep::gui

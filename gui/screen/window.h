// Runs the viewer in a window on the screen, with GLFW and OpenGL 3.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gui/app/app.h"
#include "tracer/emulate/what_if.h"

namespace lockstep::gui {

struct WindowOptions {
  std::vector<std::string> files;  ///< opened in this order
  std::string at;                  ///< a position, see parse_position; empty: the start
  Choice choice;                   ///< of a rank or device there
  int width = 0, height = 0;       ///< in points; 0: fit the screen
  std::vector<std::string> notes;  ///< see parse_note; added to every trace
  std::optional<bool> light;       ///< not given: as the user left it
  std::optional<Pace> pace;        ///< not given: the director's
  float speed = 1;
  int tour = 0;             ///< the card to show; 0: the first for new users
  bool time_order = false;  ///< start in time order
  bool cpp = false;         ///< show C++ names
  bool tree = false;        ///< show the call tree
  bool compare = false;
  bool quiz = false;      ///< ask before a phase
  bool tracks = false;    ///< show the tracks of the timeline
  bool why = false;       ///< show "Why not 4x?" instead of the stage
  bool pipeline = false;  ///< show the pipeline's grid instead of either
  bool exposed = false;   ///< show which collective is exposed instead of the stage
  std::optional<tracer::WhatIf> emulate;   ///< where the sliders stand; opens them
  std::vector<tracer::Hardware> profiles;  ///< hardware that the sliders offer
  bool print_state = false;  ///< print a line to stdout whenever the position changes
};

/// Runs until the window is closed. Throws std::runtime_error suggesting screenshots
/// instead if there is no display or no OpenGL 3.
void run_window(const WindowOptions& options);

}  // namespace lockstep::gui

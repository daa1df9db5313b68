// A window with OpenGL 3 and ImGui, and the input that arrives in it between frames.
#pragma once

#include "gui/app/key_latch.h"
#include "gui/render/fonts.h"
#include "gui/render/image.h"
#include "gui/screen/trace_files.h"
#include "gui/screen/window.h"

struct GLFWwindow;

namespace lockstep::gui {

/// What to do where there is no window, for messages.
inline constexpr const char* kInstead =
    "fix: lockstep view TRACE --screenshot picture.png (or --video film.mp4) renders "
    "without a display";

/// What arrived since the last frame.
struct Inbox {
  KeyLatch keys;
  Pacing pacing;
  TraceFiles files;  ///< to open: command line, drag and drop, choices
};

/// Owns GLFW, a window with OpenGL 3, and ImGui; destroys them in reverse order.
class Window {
 public:
  /// Throws std::runtime_error if there is no display or no OpenGL 3.
  Window(const WindowOptions& options, Inbox& inbox);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  GLFWwindow* glfw() const { return window_; }
  const Fonts& fonts() const { return fonts_; }
  float ui_scale() const { return ui_scale_; }
  /// Loads what texts needed in the previous frame. Must be called between frames.
  void load_wanted_glyphs();
  /// Returns the pixels of the frame that was drawn but not yet shown.
  Image picture() const;

 private:
  void create(const WindowOptions& options);
  void listen(Inbox& inbox);
  void close();

  GLFWwindow* window_ = nullptr;
  Fonts fonts_;
  float ui_scale_ = 1, font_scale_ = 1;
};

}  // namespace lockstep::gui

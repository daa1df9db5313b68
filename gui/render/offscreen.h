// ImGui without a window: feed input, draw a frame, and get the image.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <functional>
#include <string>

#include "gui/render/fonts.h"
#include "gui/render/image.h"
#include "gui/render/imgui_compat.h"
#include "gui/render/rasterizer.h"

namespace lockstep::gui {

/// A separate ImGui context with fonts, whose frames are rendered to images. Time
/// advances by 1/60 s per frame, regardless of the clock. Reads only fonts from disk.
/// Several instances may coexist. Not thread-safe: ImGui has a single current context,
/// which every call sets and restores.
class Offscreen {
 public:
  /// `width` and `height` are in points; the image has `scale` times as many pixels.
  /// `font_folder` is as in `load_fonts`. Throws std::runtime_error if a side has fewer
  /// than 1 or more than 16384 pixels.
  Offscreen(int width, int height, float scale = 1,
            const std::string& font_folder = "");
  ~Offscreen();
  Offscreen(const Offscreen&) = delete;
  Offscreen& operator=(const Offscreen&) = delete;

  /// Draws one frame by calling `draw`, which uses ImGui. The image is valid until the
  /// next frame. Glyphs that the previous frame lacked are loaded first (see
  /// load_wanted). If `draw` throws, this object can afterwards only be destroyed.
  const Image& frame(const std::function<void()>& draw, uint32_t background);

  /// Returns the draw data of the last frame, or null before the first. It is owned by
  /// ImGui and valid until the next frame.
  const ImDrawData* draw_data() const;

  void resize(int width, int height);  ///< in points; throws like the constructor

  // Input for the next frame. Press and release must be in separate frames: ImGui 1.86
  // reads only the state at the beginning of a frame.
  void mouse(float x, float y);       ///< in points
  void button(int index, bool down);  ///< 0 left, 1 right, 2 middle
  void wheel(float x, float y);       ///< in notches; up is positive
  void key(Key key, bool down);
  void modifiers(Modifiers held);
  void text(const char* utf8);

  const Fonts& fonts() const { return fonts_; }
  float scale() const { return scale_; }

  /// Runs `action` with this context as the current one, e.g. to set the style.
  void with_context(const std::function<void()>& action);

 private:
  void take_atlas();

  ImGuiContext* context_;
  float scale_;
  std::string font_folder_;
  Fonts fonts_;
  Texture atlas_;
  Image image_;
};

}  // namespace lockstep::gui

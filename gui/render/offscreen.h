// ImGui without a window: feed input, draw a frame, get the image.
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

/// A separate ImGui context with fonts whose frames become images. Time advances by
/// 1/60 s per frame, regardless of the clock; only fonts are read from disk. Several
/// may coexist and take turns. Not thread-safe: ImGui has one current context, which
/// every call sets and restores.
class Offscreen {
 public:
  /// `width` and `height` in points; the image has `scale` times as many pixels.
  /// `font_folder` as in `load_fonts`. Throws std::runtime_error for a size below 1 or
  /// above 16384 pixels.
  Offscreen(int width, int height, float scale = 1,
            const std::string& font_folder = "");
  ~Offscreen();
  Offscreen(const Offscreen&) = delete;
  Offscreen& operator=(const Offscreen&) = delete;

  /// Draws one frame: `draw` calls ImGui; the image is valid until the next frame. If
  /// `draw` throws, the exception propagates and this object can only be destroyed.
  const Image& frame(const std::function<void()>& draw, uint32_t background);

  /// Returns the last frame's draw data, owned by ImGui and valid until the next frame;
  /// null before the first.
  const ImDrawData* draw_data() const;

  void resize(int width, int height);  ///< in points; throws as the constructor does

  // Input for the next frame. Press and release must be in two frames: ImGui 1.86 sees
  // only the state when a frame begins.
  void mouse(float x, float y);       ///< in points
  void button(int index, bool down);  ///< 0 left, 1 right, 2 middle
  void wheel(float x, float y);       ///< in notches; up is positive
  void key(Key key, bool down);
  void modifiers(Modifiers held);
  void text(const char* utf8);

  const Fonts& fonts() const { return fonts_; }
  float scale() const { return scale_; }

  /// Runs `action` with this context current, e.g. to set the style.
  void with_context(const std::function<void()>& action);

 private:
  ImGuiContext* context_;
  float scale_;
  Fonts fonts_;
  Texture atlas_;
  Image image_;
};

}  // namespace lockstep::gui

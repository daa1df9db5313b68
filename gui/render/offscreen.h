// ImGui without a window: feed it, draw a frame, look at the picture.
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

/// An ImGui context of its own, with fonts, whose frames become pictures. Time passes
/// by 1/60 s per frame, whatever the clock says; nothing is read from or written to the
/// disk but fonts. Several may exist and take turns. Not thread-safe: ImGui has one
/// current context, which every call here sets and restores.
class Offscreen {
 public:
  /// `width` and `height` in points; the picture has `scale` times as many pixels.
  /// `font_folder` as in `load_fonts`. Throws std::runtime_error for a size below 1 or
  /// above 16384 pixels.
  Offscreen(int width, int height, float scale = 1,
            const std::string& font_folder = "");
  ~Offscreen();
  Offscreen(const Offscreen&) = delete;
  Offscreen& operator=(const Offscreen&) = delete;

  /// One frame: `draw` calls ImGui, and the picture lives until the next one. If `draw`
  /// throws, the exception passes and this object can only be destroyed.
  const Image& frame(const std::function<void()>& draw, uint32_t background);

  /// What the last frame was drawn from; null before the first. ImGui's, until the
  /// next.
  const ImDrawData* draw_data() const;

  void resize(int width, int height);  ///< in points; as the constructor

  // Input for the next frame. Press and release belong in two frames: ImGui 1.86 sees
  // only what holds when a frame begins.
  void mouse(float x, float y);       ///< in points
  void button(int index, bool down);  ///< 0 left, 1 right, 2 middle
  void wheel(float x, float y);       ///< in notches; up is positive
  void key(Key key, bool down);
  void modifiers(Modifiers held);
  void text(const char* utf8);

  const Fonts& fonts() const { return fonts_; }
  float scale() const { return scale_; }

  /// For what must be done with this context current: setting the style, say.
  void with_context(const std::function<void()>& action);

 private:
  ImGuiContext* context_;
  float scale_;
  Fonts fonts_;
  Texture atlas_;
  Image image_;
};

}  // namespace lockstep::gui

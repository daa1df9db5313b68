// Drawing primitives for the panels: rectangles, text and common elements such as cards
// and bars, built on ImGui's draw lists. All lengths are in points.
#pragma once

#include <imgui.h>

#include <string>
#include <string_view>

#include "gui/render/fonts.h"
#include "gui/ui/theme.h"

namespace lockstep::gui {

struct Rect {
  float x = 0, y = 0, w = 0, h = 0;
  float right() const { return x + w; }
  float bottom() const { return y + h; }
  ImVec2 min() const { return {x, y}; }
  ImVec2 max() const { return {x + w, y + h}; }
  ImVec2 centre() const { return {x + w / 2, y + h / 2}; }
  Rect inset(float by) const { return {x + by, y + by, w - 2 * by, h - 2 * by}; }
  bool contains(ImVec2 p) const {
    return p.x >= x && p.x < right() && p.y >= y && p.y < bottom();
  }
  /// Removes a strip from one side and returns it.
  Rect take_top(float height);
  Rect take_bottom(float height);
  Rect take_left(float width);
  Rect take_right(float width);
};

/// The direction of stripes: adjacent causes of waiting differ in it.
enum class Hatch : uint8_t { rising, falling, crossed };

/// The drawing context for one frame and window, passed to panels by reference. Like
/// ImGui, not thread-safe.
class Ui {
 public:
  Ui(const Theme& theme, const Fonts& fonts) : theme(theme), fonts(fonts) {}

  const Theme& theme;
  const Fonts& fonts;
  ImDrawList* list = nullptr;  ///< the panels' draw list; set by Frame
  bool covered = false;        ///< a modal card is on top: no tooltips

  // Text. `y` is the top of the line. Positions are rounded down to whole points.
  float line_height(Type type) const;
  float width(Type type, std::string_view text) const;
  void text(float x, float y, Type type, ImU32 colour, std::string_view text) const;
  void text_right(float x, float y, Type type, ImU32 colour,
                  std::string_view text) const;
  void text_centred(const Rect& in, Type type, ImU32 colour,
                    std::string_view text) const;
  /// Truncates the text to `room`, appending …; returns the width drawn.
  float text_cut(float x, float y, float room, Type type, ImU32 colour,
                 std::string_view text) const;
  /// Wraps at spaces and draws text between `**` in `strong` and `emphasis`. Returns
  /// the height; if `draw` is false, only measures it.
  float text_rich(const Rect& in, Type type, Type strong, ImU32 colour, ImU32 emphasis,
                  std::string_view text, bool draw = true) const;

  void fill(const Rect& r, ImU32 colour, float rounding = 0) const;
  void frame(const Rect& r, ImU32 colour, float rounding = 0, float width = 1) const;
  /// Draws diagonal stripes, for time or room that is taken but in which nothing
  /// happens.
  void hatch(const Rect& r, ImU32 colour, Hatch hatch = Hatch::rising) const;
  /// Draws a panel with a title bar; returns the area inside.
  Rect card(const Rect& r, std::string_view title, std::string_view note = {}) const;
  /// Draws a bar filled up to `share`; if `solid` is false, outlines the filled part.
  void bar(const Rect& r, float share, ImU32 colour, bool solid = true) const;

  /// Adds an invisible button. Returns true if it was clicked; sets `hovered`.
  bool clicked(const char* id, const Rect& r, bool* hovered = nullptr) const;
  bool button(const char* id, const Rect& r, std::string_view label,
              bool active = false, Type type = Type::body) const;
  void tooltip(std::string_view text) const;  ///< for the hovered item
};

/// Returns the part of `text` that fits into `room`, cut at a whole UTF-8 character.
std::string_view fitting_prefix(const ImFont& font, float size, std::string_view text,
                                float room);

/// A scroll area whose offset is computed rather than stored: it follows the current
/// item, and the wheel scrolls away only until another item becomes current. A frame
/// therefore depends on the position, not on the history.
class Scroll {
 public:
  /// Clips drawing to `area`. `content` is the total height, `wanted` is the desired
  /// scroll offset, and `stamp` identifies the current item. If `row` is not 0, shows
  /// whole rows of this height only.
  Scroll(const Ui& ui, const char* id, const Rect& area, float content, float wanted,
         int stamp, float row = 0);
  ~Scroll();
  Scroll(const Scroll&) = delete;
  Scroll& operator=(const Scroll&) = delete;

  float top() const { return area_.y - offset_; }  ///< top of the content
  float bottom() const { return area_.bottom(); }  ///< of what is shown
  bool shows(float y, float height) const {
    return y + height > area_.y + 0.5f && y < area_.bottom() - 0.5f;
  }

 private:
  const Ui& ui_;
  Rect area_;
  float offset_ = 0;
};

}  // namespace lockstep::gui

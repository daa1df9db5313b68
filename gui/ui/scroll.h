// Scrolling whose place is computed, not remembered: it follows what is current, and
// the wheel moves away from that only as long as the same thing stays current. So a
// picture is a function of the position, whatever was looked at before.
#pragma once

#include "gui/ui/ui.h"

namespace lockstep::gui {

class Scroll {
 public:
  /// Clips drawing to `area`. `content` is the height of all, `wanted` how far it
  /// should be scrolled, `stamp` names what is current.
  Scroll(const Ui& ui, const char* id, const Rect& area, float content, float wanted,
         int stamp);
  ~Scroll();
  Scroll(const Scroll&) = delete;
  Scroll& operator=(const Scroll&) = delete;

  float top() const { return area_.y - offset_; }  ///< where the content begins
  bool shows(float y, float height) const {
    return y + height >= area_.y && y <= area_.bottom();
  }

 private:
  const Ui& ui_;
  Rect area_;
  float offset_ = 0;
};

}  // namespace lockstep::gui

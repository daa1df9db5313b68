// Scrolling that is computed, not remembered: it follows the current item, and the
// wheel moves away only while that item stays current. So a frame is a function of the
// position, regardless of history.
#pragma once

#include "gui/ui/ui.h"

namespace lockstep::gui {

class Scroll {
 public:
  /// Clips drawing to `area`. `content` is the total height, `wanted` the scroll
  /// offset, `stamp` identifies the current item.
  Scroll(const Ui& ui, const char* id, const Rect& area, float content, float wanted,
         int stamp);
  ~Scroll();
  Scroll(const Scroll&) = delete;
  Scroll& operator=(const Scroll&) = delete;

  float top() const { return area_.y - offset_; }  ///< top of the content
  bool shows(float y, float height) const {
    return y + height >= area_.y && y <= area_.bottom();
  }

 private:
  const Ui& ui_;
  Rect area_;
  float offset_ = 0;
};

}  // namespace lockstep::gui

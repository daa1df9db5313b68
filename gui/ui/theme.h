// The viewer's colours. Any two that carry different meanings differ by a CIEDE2000 of
// at least 12 for people with normal vision and with protanopia, and of at least 10
// with deuteranopia (tests/gui/app/colour_vision_test.cpp). Every one of them is
// accompanied by a word.
#pragma once

#include <imgui.h>

#include <string>

#include "gui/model/model.h"

namespace lockstep::gui {

struct Theme {
  bool dark = true;
  ImU32 background, panel, raised, sunken, line, hover, shadow;
  ImU32 text, dim, faint;  ///< text colours, from strong to weak
  ImU32 accent, on_accent, accent_background;
  ImU32 warning, warning_background;
  ImU32 waiting;  ///< stripes where work is enqueued and nothing runs
  ImU32 arrow;    ///< curves between events
  ImU32 host;     ///< calls on the host, in shades

  // Colours that carry meaning; `accent` (what is current) is none of them.
  ImU32 lime, sky, green, yellow, blue, pink, violet, slate, tan, grey;

  // Source code.
  ImU32 code_keyword, code_type, code_number, code_text, code_comment, code_call;
};

const Theme& dark_theme();
const Theme& light_theme();

/// Returns the colour for a copy's reason: lime for `replicate`, pink for `reduce`, …
ImU32 reason_colour(const Theme& theme, const std::string& why);
/// Returns the colour of a phase, also used for the kernels of that phase.
ImU32 phase_colour(const Theme& theme, const std::string& phase);
/// Returns the colour of a memory category, an index into
/// tracer::memory_categories.
ImU32 memory_colour(const Theme& theme, size_t category);
/// Returns the colour of an event in the timeline.
ImU32 event_colour(const Theme& theme, const Model& model, uint32_t event);

ImU32 with_alpha(ImU32 colour, float alpha);      ///< scales opacity, 0 … 1
ImU32 mixed(ImU32 a, ImU32 b, float share_of_b);  ///< 0 … 1

// ---- Contrast: all text has at least kReadable (tests/gui/app/contrast_test.cpp).

/// The ratio that WCAG 2.2 requires of text (success criterion 1.4.3).
inline constexpr float kReadable = 4.5f;
/// Returns the contrast ratio of two opaque colours, 1 to 21, as WCAG 2.2 defines it.
float contrast(ImU32 a, ImU32 b);
/// Returns the ink colour, black or white, that contrasts better with `ground`; its
/// ratio is at least 4.58.
ImU32 ink_on(ImU32 ground);
/// Returns `colour`, mixed with ink_on(ground) until it is readable on `ground`.
ImU32 readable(ImU32 colour, ImU32 ground);

}  // namespace lockstep::gui

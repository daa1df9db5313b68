// The viewer's colours. Hues are from Okabe and Ito's palette (2008), which is
// distinguishable with any common colour blindness; lightness differs, too, and every
// meaningful colour stands beside its word.
#pragma once

#include <imgui.h>

#include <string>

#include "gui/model/model.h"

namespace lockstep::gui {

struct Theme {
  bool dark = true;
  ImU32 background, panel, raised, sunken, line, hover, shadow;
  ImU32 text, dim, faint;  ///< text colours, strong to weak
  ImU32 accent, on_accent, accent_background;
  ImU32 warning, warning_background;

  // Colours with a meaning.
  ImU32 orange, sky, green, yellow, blue, pink, violet, slate, grey;

  // Source code.
  ImU32 code_keyword, code_type, code_number, code_text, code_comment, code_call;
};

const Theme& dark_theme();
const Theme& light_theme();

/// By reason of a copy: `replicate` orange, `reduce` pink, `scatter` sky, …
ImU32 reason_colour(const Theme& theme, const std::string& why);
/// By phase; also for the kernels of that phase.
ImU32 phase_colour(const Theme& theme, const std::string& phase);
/// By memory category, an index into kMemoryCategories.
ImU32 memory_colour(const Theme& theme, size_t category);
/// By event, in the timeline.
ImU32 event_colour(const Theme& theme, const Model& model, uint32_t event);

ImU32 with_alpha(ImU32 colour, float alpha);      ///< multiplied by alpha, 0 … 1
ImU32 mixed(ImU32 a, ImU32 b, float share_of_b);  ///< 0 … 1
/// Returns black or white, whichever contrasts better with `ground`.
ImU32 ink_on(ImU32 ground);

}  // namespace lockstep::gui

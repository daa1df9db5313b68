// The viewer's colours. Hues come from Okabe and Ito's palette (2008), which people
// with any common colour blindness can tell apart; lightness differs too, and every
// colour that carries a meaning stands beside its word.
#pragma once

#include <imgui.h>

#include <string>

#include "gui/model/model.h"

namespace lockstep::gui {

struct Theme {
  bool dark = true;
  ImU32 background, panel, raised, sunken, line, hover, shadow;
  ImU32 text, dim, faint;  ///< for words, from strong to weak
  ImU32 accent, on_accent, accent_background;
  ImU32 warning, warning_background;

  // The hues of meaning.
  ImU32 orange, sky, green, yellow, blue, pink, violet, slate, grey;

  // Source code.
  ImU32 code_keyword, code_type, code_number, code_text, code_comment, code_call;
};

const Theme& dark_theme();
const Theme& light_theme();

/// Of a copy by its reason: `replicate` orange, `reduce` pink, `scatter` sky, …
ImU32 reason_colour(const Theme& theme, const std::string& why);
/// Of a phase, and of the kernels that belong to it.
ImU32 phase_colour(const Theme& theme, const std::string& phase);
/// Of a category of memory, by its index in kMemoryCategories.
ImU32 memory_colour(const Theme& theme, size_t category);
/// Of an event in the timeline.
ImU32 event_colour(const Theme& theme, const Model& model, uint32_t event);

ImU32 with_alpha(ImU32 colour, float alpha);      ///< times alpha, 0 … 1
ImU32 mixed(ImU32 a, ImU32 b, float share_of_b);  ///< 0 … 1
/// Black or white ink, whichever reads better on `ground`.
ImU32 ink_on(ImU32 ground);

}  // namespace lockstep::gui

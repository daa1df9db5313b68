// The viewer's type: Inter for words, JetBrains Mono for code and addresses.
#pragma once

#include <imgui.h>

#include <array>
#include <cstddef>
#include <functional>
#include <string>

namespace lockstep::gui {

/// What a text is for; each has one face and one size (fonts.cpp has the table). A line
/// is a whole number of points high.
enum class Type { small, body, strong, prose, title, huge, mono, mono_small };
constexpr size_t kTypes = 8;

/// Fonts loaded into an atlas, which owns them.
struct Fonts {
  ImFont* get(Type type) const { return fonts[static_cast<size_t>(type)]; }

  std::array<ImFont*, kTypes> fonts{};
  bool complete = false;  ///< false: others stand in, and pictures look different
  std::string message;    ///< empty, or one line: what is missing and how to get it
};

/// Loads all types, `scale` times larger (pixels per point; above 0), and has ImGui
/// draw them as if they were not, so that sizes stay points. The first is `body`, which
/// ImGui takes where no font is pushed. Looks for the files in `folder`, and only
/// there, if one is given, else in Debian's and the user's font folders. What is
/// missing is replaced: by DejaVu Sans, else by ImGui's own font.
///
/// Digits are as wide as each other, so that a running number does not tremble.
/// Glyphs: Latin-1, and the Greek letters, punctuation, arrows, mathematical and
/// geometric signs that either face has. Where neither has one, its like is drawn:
/// ⇄ ↔, ⇆ ↔, ⇅ ↕, ⟳ ↻, ✔ ✓, ✕ ×, ⏵ ▶, ⏸ ‖, ⏹ ■, ⏭ », ⏮ «, ⋯ …, ∇ Δ.
///
/// Builds the atlas: call it once for each, before the first frame. Throws
/// std::runtime_error if ImGui cannot build it. Thread-safe for different atlases.
Fonts load_fonts(ImFontAtlas& atlas, float scale, const std::string& folder = "");

/// The bytes of a font file, by its name without a folder; empty if there is none.
using FontReader = std::function<std::string(const std::string& name)>;

/// The same without a file system.
Fonts load_fonts(ImFontAtlas& atlas, float scale, const FontReader& read);

// ---- Font files on this computer.

/// Reads from `folder` and below, and only there, if it is not empty; else from the
/// system's and the user's font folders. Never throws: what cannot be read is not
/// there.
FontReader font_files(const std::string& folder);

}  // namespace lockstep::gui

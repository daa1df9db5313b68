// The viewer's fonts: Inter for text, and JetBrains Mono for code and addresses.
#pragma once

#include <imgui.h>

#include <array>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace lockstep::gui {

/// The role of a text, which determines its typeface and size (see fonts.cpp). Line
/// heights are whole points.
enum class Type { small, body, strong, prose, title, huge, mono, mono_small };
constexpr size_t kTypes = 8;

/// The fonts loaded into an atlas, which owns them.
struct Fonts {
  ImFont* get(Type type) const { return fonts[static_cast<size_t>(type)]; }

  std::array<ImFont*, kTypes> fonts{};
  bool complete = false;   ///< if false, substitutes are used and images differ
  std::string message;     ///< what is missing and how to install it, or empty
  std::set<ImWchar> more;  ///< what was loaded besides the usual glyphs
  mutable std::set<ImWchar> wanted;  ///< drawn as "?" so far; see load_wanted
};

/// Loads the fonts of each `Type`, enlarged by `scale` (pixels per point; must be
/// positive), and draws them at nominal size, so that sizes remain in points. `body` is
/// ImGui's default. Searches `folder` if it is not empty, otherwise the font folders of
/// Debian and the user. Replaces missing fonts with DejaVu, or else with ImGui's
/// built-in font.
///
/// Digits have equal widths, so that changing numbers do not jitter. The glyphs are
/// Latin-1 and those Greek letters, punctuation marks, arrows and symbols that either
/// typeface contains. Similar glyphs replace missing ones: ⇄ ↔, ⇆ ↔, ⇅ ↕, ⟳ ↻, ✔
/// ✓, ✕ ×, ⏵ ▶, ⏸ ‖, ⏹ ■, ⏭ », ⏮ «, ⋯ …, ∇ Δ.
///
/// Builds the atlas; must be called once per atlas, before the first frame. Throws
/// std::runtime_error if ImGui cannot build it. Thread-safe for different atlases.
Fonts load_fonts(ImFontAtlas& atlas, float scale, const std::string& folder = "");

/// Notes the characters of a text that `font`, one of `fonts`, has no glyph for.
void want_glyphs(const Fonts& fonts, ImFont& font, std::string_view utf8);

/// If a text had characters without glyphs, loads the fonts again with these: from the
/// typefaces above, or else from the first installed font of a list that has them
/// (DejaVu, Noto, ...). Returns true if it did; the atlas then has another texture.
/// Must be called between frames, with the arguments of load_fonts.
bool load_wanted(Fonts& fonts, ImFontAtlas& atlas, float scale,
                 const std::string& folder = "");

/// Returns the contents of the font file with the given name (without a folder), or an
/// empty string if there is no such file.
using FontReader = std::function<std::string(const std::string& name)>;

/// As above, but does not access the file system. Also loads the glyphs `more`.
Fonts load_fonts(ImFontAtlas& atlas, float scale, const FontReader& read,
                 const std::set<ImWchar>& more = {});

// ---- Font files on this computer

/// Searches `folder` recursively if it is not empty, otherwise the font folders of the
/// system and the user. The reader treats unreadable files as missing.
FontReader font_files(const std::string& folder);

}  // namespace lockstep::gui

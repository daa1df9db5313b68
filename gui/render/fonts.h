// The viewer's fonts: Inter for text, JetBrains Mono for code and addresses.
#pragma once

#include <imgui.h>

#include <array>
#include <cstddef>
#include <functional>
#include <string>

namespace lockstep::gui {

/// The purpose of a text, which determines face and size (see fonts.cpp). Line heights
/// are whole points.
enum class Type { small, body, strong, prose, title, huge, mono, mono_small };
constexpr size_t kTypes = 8;

/// Fonts loaded into an atlas, which owns them.
struct Fonts {
  ImFont* get(Type type) const { return fonts[static_cast<size_t>(type)]; }

  std::array<ImFont*, kTypes> fonts{};
  bool complete = false;  ///< false: substitutes are in use, and images differ
  std::string message;    ///< empty, or one line: what is missing and how to install it
};

/// Loads all types enlarged by `scale` (pixels per point; above 0) and draws them at
/// their nominal size, so that sizes stay points. The first is `body`, ImGui's default
/// font. Searches only `folder` if it is given, otherwise Debian's and the user's font
/// folders. Replaces missing fonts by DejaVu Sans, otherwise by ImGui's own font.
///
/// Digits have equal widths, so that running numbers do not jitter. Glyphs: Latin-1,
/// and the Greek letters, punctuation, arrows, mathematical and geometric symbols that
/// either face has. Missing glyphs are replaced by similar ones: ⇄ ↔, ⇆ ↔, ⇅ ↕, ⟳ ↻, ✔
/// ✓, ✕ ×, ⏵ ▶, ⏸ ‖, ⏹ ■, ⏭ », ⏮ «, ⋯ …, ∇ Δ.
///
/// Builds the atlas; must be called once per atlas, before the first frame. Throws
/// std::runtime_error if ImGui cannot build it. Thread-safe for different atlases.
Fonts load_fonts(ImFontAtlas& atlas, float scale, const std::string& folder = "");

/// Returns the bytes of a font file by its name without a folder; empty if there is
/// none.
using FontReader = std::function<std::string(const std::string& name)>;

/// Overload without a file system.
Fonts load_fonts(ImFontAtlas& atlas, float scale, const FontReader& read);

// ---- Font files on this computer.

/// Searches `folder` recursively if it is not empty, otherwise the system's and the
/// user's font folders. Never throws: unreadable files count as missing.
FontReader font_files(const std::string& folder);

}  // namespace lockstep::gui

// Hides the differences between Dear ImGui 1.86 (Debian 12), 1.90 (Debian 13, Ubuntu
// 24.04) and 1.92. No other file checks ImGui's version.
#pragma once

#include <imgui.h>

#include <cstdint>

#if IMGUI_VERSION_NUM < 19200
// Of the OpenGL backend, as its header declares them.
IMGUI_API bool ImGui_ImplOpenGL3_CreateFontsTexture();
IMGUI_API void ImGui_ImplOpenGL3_DestroyFontsTexture();
#endif

namespace lockstep::gui {

struct Texture;

// ---- Textures: ids were pointers before 1.91 and have been integers since.

inline ImTextureID texture_id(const Texture* texture) {
  return (ImTextureID) reinterpret_cast<uintptr_t>(texture);
}

inline const Texture* texture_of(const ImDrawCmd& command) {
  return reinterpret_cast<const Texture*>((uintptr_t)command.GetTexID());
}

// ---- Fonts: since 1.92, a font has no size; it is passed to `PushFont` instead.

/// Returns the line height in points, for `ImDrawList::AddText(font, size, ...)`.
inline float font_size(const ImFont& font) {
#if IMGUI_VERSION_NUM >= 19200
  return font.LegacySize * font.Scale;
#else
  return font.FontSize * font.Scale;
#endif
}

/// Calls `ImGui::PushFont` with the size at which the font was loaded.
inline void push_font(ImFont* font) {
#if IMGUI_VERSION_NUM >= 19200
  ImGui::PushFont(font, font->LegacySize);
#else
  ImGui::PushFont(font);
#endif
}

/// Visits all glyphs of a loaded font, to adjust their advance. Does nothing in 1.92,
/// which creates glyphs when they are first drawn, so they cannot be adjusted.
template <typename Adjust>
void for_each_glyph(ImFont& font, Adjust adjust) {
#if IMGUI_VERSION_NUM >= 19200
  (void)font;
  (void)adjust;
#else
  for (ImFontGlyph& glyph : font.Glyphs) adjust(glyph);
  font.BuildLookupTable();
#endif
}

/// Returns true if the font itself has a glyph for the character.
inline bool has_glyph(ImFont& font, ImWchar character) {
#if IMGUI_VERSION_NUM >= 19200
  return font.IsGlyphInFont(character);
#else
  return font.FindGlyphNoFallback(character) != nullptr;
#endif
}

/// Must be called when the atlas has changed, if the OpenGL backend draws. Since 1.92,
/// the backend finds out itself.
inline void renew_font_texture() {
#if IMGUI_VERSION_NUM < 19200
  ImGui_ImplOpenGL3_DestroyFontsTexture();
  ImGui_ImplOpenGL3_CreateFontsTexture();
#endif
}

// ---- Lines: their anti-aliased fringe is one point wide, which is two pixels on a
// HiDPI screen.

/// Must be called on a window's list after `Begin`, before drawing into it.
inline void sharpen_lines(ImDrawList& list, float pixels_per_point) {
  list._FringeScale = 1 / pixels_per_point;
}

// ---- Mouse and text

inline void feed_mouse(ImGuiIO& io, ImVec2 position) {
#if IMGUI_VERSION_NUM >= 18700
  io.AddMousePosEvent(position.x, position.y);
#else
  io.MousePos = position;
#endif
}

inline void feed_button(ImGuiIO& io, int button, bool down) {
#if IMGUI_VERSION_NUM >= 18700
  io.AddMouseButtonEvent(button, down);
#else
  io.MouseDown[button] = down;
#endif
}

/// Feeds wheel movement in notches; up and left are positive.
inline void feed_wheel(ImGuiIO& io, float x, float y) {
#if IMGUI_VERSION_NUM >= 18700
  io.AddMouseWheelEvent(x, y);
#else
  io.MouseWheelH += x;
  io.MouseWheel += y;
#endif
}

inline void feed_text(ImGuiIO& io, const char* utf8) {
  io.AddInputCharactersUTF8(utf8);
}

// ---- Keys: up to 1.86, they were the key codes of the window library.

/// The viewer's keys, with GLFW's codes, so that in 1.86 a real window and `feed_key`
/// set the same entries. Printable keys use the code of the capital: `key_of('f')`.
enum class Key {
  space = ' ',  // clang-format off
  escape = 256, enter, tab, backspace, insert, del, right, left, down, up, page_up,
  page_down, home, end,  // clang-format on
};

/// Supports letters, digits and - = [ ] , . / ; ' ` on a US keyboard.
constexpr Key key_of(char c) {
  return static_cast<Key>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

struct Modifiers {
  bool ctrl = false, shift = false, alt = false, super = false;
  bool operator==(const Modifiers&) const = default;
};

#if IMGUI_VERSION_NUM >= 18700

inline ImGuiKey imgui_key(Key key) {
  constexpr char kSigns[] = " -=[],./;'`";
  constexpr ImGuiKey kSignKeys[] = {
      ImGuiKey_Space,       ImGuiKey_Minus,        ImGuiKey_Equal,
      ImGuiKey_LeftBracket, ImGuiKey_RightBracket, ImGuiKey_Comma,
      ImGuiKey_Period,      ImGuiKey_Slash,        ImGuiKey_Semicolon,
      ImGuiKey_Apostrophe,  ImGuiKey_GraveAccent};
  constexpr ImGuiKey kNamedKeys[] = {
      ImGuiKey_Escape,    ImGuiKey_Enter,   ImGuiKey_Tab,        ImGuiKey_Backspace,
      ImGuiKey_Insert,    ImGuiKey_Delete,  ImGuiKey_RightArrow, ImGuiKey_LeftArrow,
      ImGuiKey_DownArrow, ImGuiKey_UpArrow, ImGuiKey_PageUp,     ImGuiKey_PageDown,
      ImGuiKey_Home,      ImGuiKey_End};
  const int code = static_cast<int>(key);
  if (code >= '0' && code <= '9') return ImGuiKey(ImGuiKey_0 + code - '0');
  if (code >= 'A' && code <= 'Z') return ImGuiKey(ImGuiKey_A + code - 'A');
  for (int i = 0; kSigns[i]; ++i) {
    if (code == kSigns[i]) return kSignKeys[i];
  }
  const bool named = key >= Key::escape && key <= Key::end;
  return named ? kNamedKeys[code - static_cast<int>(Key::escape)] : ImGuiKey_None;
}

inline void map_keys(ImGuiIO&) {}
inline void feed_key(ImGuiIO& io, Key key, bool down) {
  io.AddKeyEvent(imgui_key(key), down);
}
inline void feed_modifiers(ImGuiIO& io, Modifiers held) {
  io.AddKeyEvent(ImGuiMod_Ctrl, held.ctrl);
  io.AddKeyEvent(ImGuiMod_Shift, held.shift);
  io.AddKeyEvent(ImGuiMod_Alt, held.alt);
  io.AddKeyEvent(ImGuiMod_Super, held.super);
}
inline bool key_pressed(Key key, bool repeat = false) {
  return ImGui::IsKeyPressed(imgui_key(key), repeat);
}
inline bool key_down(Key key) { return ImGui::IsKeyDown(imgui_key(key)); }

#else

/// Maps keys for ImGui's own widgets; a window backend does this itself.
inline void map_keys(ImGuiIO& io) {
  constexpr Key kKeys[] = {
      Key::tab,       Key::left,  Key::right, Key::up,     Key::down, Key::page_up,
      Key::page_down, Key::home,  Key::end,   Key::insert, Key::del,  Key::backspace,
      Key::space,     Key::enter, Key::escape};  // in the order of ImGuiKey_
  for (int i = 0; const Key key : kKeys) io.KeyMap[i++] = static_cast<int>(key);
  constexpr char kLetters[] = {'A', 'C', 'V', 'X', 'Y', 'Z'};
  for (int i = ImGuiKey_A; const char letter : kLetters) io.KeyMap[i++] = letter;
}

inline void feed_key(ImGuiIO& io, Key key, bool down) {
  io.KeysDown[static_cast<int>(key)] = down;
}
inline void feed_modifiers(ImGuiIO& io, Modifiers held) {
  io.KeyCtrl = held.ctrl;
  io.KeyShift = held.shift;
  io.KeyAlt = held.alt;
  io.KeySuper = held.super;
}
/// Returns true if the key was pressed in this frame or, if `repeat` is true, has been
/// held long enough to repeat.
inline bool key_pressed(Key key, bool repeat = false) {
  return ImGui::IsKeyPressed(static_cast<int>(key), repeat);
}
inline bool key_down(Key key) { return ImGui::IsKeyDown(static_cast<int>(key)); }

#endif

inline Modifiers modifiers() {
  const ImGuiIO& io = ImGui::GetIO();
  return {io.KeyCtrl, io.KeyShift, io.KeyAlt, io.KeySuper};
}

}  // namespace lockstep::gui

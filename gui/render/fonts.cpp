#include "gui/render/fonts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string_view>

#include "gui/render/imgui_compat.h"

namespace lockstep::gui {

namespace {

struct Face {
  Type type;
  const char* file;
  const char* helper;  ///< provides glyphs that `file` lacks
  float line;          ///< height in points; the em is 0.83 of it in Inter, else 0.76
};

constexpr const char* kWordsFont = "Inter-Regular.otf";
constexpr const char* kCodeFont = "JetBrainsMono-Regular.ttf";
constexpr Face kFaces[kTypes] = {
    {Type::body, kWordsFont, kCodeFont, 16},
    {Type::small, kWordsFont, kCodeFont, 14},
    {Type::strong, "Inter-SemiBold.otf", kCodeFont, 16},
    {Type::prose, kWordsFont, kCodeFont, 18},
    {Type::title, "Inter-SemiBold.otf", kCodeFont, 18},
    {Type::huge, "Inter-Bold.otf", kCodeFont, 24},
    {Type::mono, kCodeFont, kWordsFont, 16},
    {Type::mono_small, kCodeFont, kWordsFont, 15},
};
constexpr const char* kFallback = "DejaVuSans.ttf";
constexpr const char* kFallbackCode = "DejaVuSansMono.ttf";

constexpr ImWchar kGlyphs[] = {
    0x0020, 0x007e, 0x00a0, 0x00ff,  // Latin-1
    0x0391, 0x03a9, 0x03b1, 0x03c9,  // Greek
    0x2010, 0x2027, 0x2030, 0x203a,  // – — ‖ ‘ ’ “ ” • … ‰ ′ ″ ‹ ›
    0x2070, 0x208e,                  // superscript and subscript digits
    0x2190, 0x2199, 0x21b5, 0x21bb,  // arrows, ↵ ↺ ↻
    0x21d0, 0x21d5, 0x2202, 0x221e,  // ⇒ ⇔ ∂ ∆ ∈ ∏ ∑ − √ ∞
    0x2248, 0x2265, 0x2318, 0x2318,  // ≈ ≠ ≤ ≥ ⌘
    0x25a0, 0x25cf, 0x2713, 0x2717,  // ■ □ ▲ △ ▶ ▷ ▼ ▽ ◀ ◆ ◇ ○ ● ✓ ✗
    0};

struct Substitute {
  ImWchar missing, like;
};
constexpr Substitute kSubstitutes[] = {
    {u'⇄', u'↔'}, {u'⇆', u'↔'}, {u'⇅', u'↕'}, {u'⟳', u'↻'}, {u'✔', u'✓'},
    {u'✕', u'×'}, {u'⏵', u'▶'}, {u'⏸', u'‖'}, {u'⏹', u'■'}, {u'⏭', u'»'},
    {u'⏮', u'«'}, {u'⋯', u'…'}, {u'∇', u'Δ'},
};

bool is_font(std::string_view bytes) {
  using namespace std::string_view_literals;
  return bytes.starts_with("OTTO"sv) || bytes.starts_with("\0\1\0\0"sv) ||
         bytes.starts_with("true"sv);
}

/// Font files by name. Each is read only once; the atlas owns the data it uses.
class Library {
 public:
  Library(ImFontAtlas& atlas, const FontReader& read) : atlas_(atlas), read_(read) {}
  ~Library() {
    for (auto& [name, file] : files_) {
      if (!file.given) IM_FREE(file.data);
    }
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  bool has(const char* name) { return file(name).size > 0; }

  /// Adds a font to the atlas. Returns null if there is no such file.
  ImFont* add(const char* name, float pixels, bool into_the_last) {
    File& from = file(name);
    if (from.size == 0) return nullptr;
    ImFontConfig config;
    config.MergeMode = into_the_last;
    config.OversampleH = 3;  // positions glyphs in thirds of a pixel, for even spacing
    config.OversampleV = 1;
    config.PixelSnapH = false;
    config.FontDataOwnedByAtlas = !from.given;
    from.given = true;
    return atlas_.AddFontFromMemoryTTF(from.data, from.size, pixels, &config, kGlyphs);
  }

 private:
  struct File {
    void* data = nullptr;
    int size = 0;
    bool given = false;  ///< owned by the atlas
  };
  File& file(const char* name) {
    const auto [entry, is_new] = files_.try_emplace(name);
    File& file = entry->second;
    const std::string bytes = is_new ? read_(name) : "";
    if (is_font(bytes)) {
      file.size = static_cast<int>(bytes.size());
      file.data = IM_ALLOC(bytes.size());
      std::memcpy(file.data, bytes.data(), bytes.size());
    }
    return file;
  }

  ImFontAtlas& atlas_;
  const FontReader& read_;
  std::map<std::string, File> files_;
};

/// Adds the typeface or, if it is missing, DejaVu or else ImGui's built-in font.
ImFont* add_face(Library& library, ImFontAtlas& atlas, const Face& face, float scale) {
  const bool is_code = std::string_view(face.file) == kCodeFont;
  const float pixels = std::max(1.0f, face.line * scale);
  if (ImFont* font = library.add(face.file, pixels, false)) {
    library.add(face.helper, pixels, true);
    return font;
  }
  for (const char* stand_in : {is_code ? kFallbackCode : kFallback, kFallback}) {
    if (ImFont* font = library.add(stand_in, pixels, false)) return font;
  }
  ImFontConfig config;
  config.SizePixels = std::max(13.0f, 13 * std::floor(pixels / 13));  // a bitmap font
  return atlas.AddFontDefault(&config);
}

std::string missing_files(Library& library) {
  std::string names;
  for (const Face& face : kFaces) {
    if (library.has(face.file) || names.find(face.file) != names.npos) continue;
    names += (names.empty() ? "" : ", ") + std::string(face.file);
  }
  return names;
}

void make_digits_tabular(ImFont& font) {
  float widest = 0;
  const auto is_digit = [](const ImFontGlyph& glyph) {
    return glyph.Codepoint >= '0' && glyph.Codepoint <= '9';
  };
  for_each_glyph(font, [&](ImFontGlyph& glyph) {
    if (is_digit(glyph)) widest = std::max(widest, glyph.AdvanceX);
  });
  for_each_glyph(font, [&](ImFontGlyph& glyph) {
    if (!is_digit(glyph)) return;
    const float shift = (widest - glyph.AdvanceX) / 2;
    glyph.X0 += shift;
    glyph.X1 += shift;
    glyph.AdvanceX = widest;
  });
}

}  // namespace

Fonts load_fonts(ImFontAtlas& atlas, float scale, const FontReader& read) {
  atlas.Flags |=
      ImFontAtlasFlags_NoBakedLines;  // draw lines as triangles, not from the atlas
  Fonts fonts;
  {
    Library library(atlas, read);
    for (const Face& face : kFaces) {
      fonts.fonts[static_cast<size_t>(face.type)] =
          add_face(library, atlas, face, scale);
    }
    const std::string missing = missing_files(library);
    fonts.complete = missing.empty();
    if (!fonts.complete) {
      fonts.message = "fonts not found, using substitutes: " + missing +
                      "; fix: apt-get install fonts-inter fonts-jetbrains-mono";
    }
  }
  if (!atlas.Build()) throw std::runtime_error("ImGui cannot build the font atlas");
  for (ImFont* font : fonts.fonts) {
    make_digits_tabular(*font);
    for (const auto& [missing, like] : kSubstitutes) {
      if (!has_glyph(*font, missing)) font->AddRemapChar(missing, like);
    }
    font->Scale = 1 / scale;
  }
  return fonts;
}

}  // namespace lockstep::gui

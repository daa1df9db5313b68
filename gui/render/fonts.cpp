#include "gui/render/fonts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string_view>
#include <vector>

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

/// Fonts of other scripts, tried in this order for glyphs that the typefaces lack.
constexpr const char* kOtherScripts[] = {
    kFallback,
    "NotoSans-Regular.ttf",
    "NotoSansArabic-Regular.ttf",
    "NotoSansHebrew-Regular.ttf",
    "NotoSansDevanagari-Regular.ttf",
    "NotoSansThai-Regular.ttf",
    "NotoSansCJK-Regular.ttc",
    "NotoSansCJKsc-Regular.otf",
    "DroidSansFallbackFull.ttf",
    "wqy-microhei.ttc",
    "wqy-zenhei.ttc",
    "unifont.otf",
    "unifont.ttf",
};

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
         bytes.starts_with("true"sv) || bytes.starts_with("ttcf"sv);
}

/// Font files by name. Each is read only once; the atlas owns the data it uses.
class Library {
 public:
  Library(ImFontAtlas& atlas, const FontReader& read, const ImWchar* glyphs)
      : atlas_(atlas), read_(read), glyphs_(glyphs) {}
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
    return atlas_.AddFontFromMemoryTTF(from.data, from.size, pixels, &config, glyphs_);
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
  const ImWchar* glyphs_;  ///< ranges; must exist until the atlas is built
  std::map<std::string, File> files_;
};

/// Adds the typeface or, if it is missing, DejaVu or else ImGui's built-in font.
ImFont* add_typeface(Library& library, ImFontAtlas& atlas, const Face& face,
                     float scale) {
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

/// Returns kGlyphs and `more` as ranges.
std::vector<ImWchar> ranges_with(const std::set<ImWchar>& more) {
  std::vector<ImWchar> ranges(std::begin(kGlyphs), std::end(kGlyphs) - 1);
  for (const ImWchar character : more) ranges.insert(ranges.end(), 2, character);
  ranges.push_back(0);
  return ranges;
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

/// Loads all faces once, each with the glyphs that only `others` have.
Fonts load_once(ImFontAtlas& atlas, float scale, const FontReader& read,
                const std::vector<ImWchar>& glyphs,
                const std::vector<const char*>& others) {
  Fonts fonts;
  {
    Library library(atlas, read, glyphs.data());
    for (const Face& face : kFaces) {
      fonts.fonts[static_cast<size_t>(face.type)] =
          add_typeface(library, atlas, face, scale);
      for (const char* name : others) {
        library.add(name, std::max(1.0f, face.line * scale), true);
      }
    }
    const std::string missing = missing_files(library);
    fonts.complete = missing.empty();
    if (!fonts.complete) {
      fonts.message = "fonts not found, using substitutes: " + missing +
                      "; fix: apt-get install fonts-inter fonts-jetbrains-mono";
    }
  }
  if (!atlas.Build()) throw std::runtime_error("ImGui cannot build the font atlas");
  return fonts;
}

bool lacks_any(ImFont& font, const std::set<ImWchar>& characters) {
  return std::ranges::any_of(
      characters, [&](ImWchar character) { return !has_glyph(font, character); });
}

}  // namespace

Fonts load_fonts(ImFontAtlas& atlas, float scale, const FontReader& read,
                 const std::set<ImWchar>& more) {
  atlas.Flags |=
      ImFontAtlasFlags_NoBakedLines;  // draw lines as triangles, not from the atlas
  const std::vector<ImWchar> glyphs = ranges_with(more);
  std::vector<const char*> others;
  Fonts fonts = load_once(atlas, scale, read, glyphs, others);
  for (const char* name : kOtherScripts) {
    if (!lacks_any(*fonts.get(Type::body), more)) break;
    if (!is_font(read(name))) continue;
    others.push_back(name);
    atlas.Clear();
    fonts = load_once(atlas, scale, read, glyphs, others);
  }
  fonts.more = more;
  for (ImFont* font : fonts.fonts) {
    make_digits_tabular(*font);
    for (const auto& [missing, like] : kSubstitutes) {
      if (!has_glyph(*font, missing)) font->AddRemapChar(missing, like);
    }
    font->Scale = 1 / scale;
  }
  return fonts;
}

void want_glyphs(const Fonts& fonts, ImFont& font, std::string_view utf8) {
  for (size_t i = 0; i < utf8.size();) {
    const auto lead = static_cast<unsigned char>(utf8[i++]);
    if (lead < 0xC0) continue;  // ASCII, which every font has, or no lead byte
    const size_t more = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    if (i + more > utf8.size()) return;  // cut off
    unsigned point = lead & (0x3Fu >> more);
    for (size_t k = 0; k < more; ++k, ++i) {
      point = point << 6 | (static_cast<unsigned char>(utf8[i]) & 0x3Fu);
    }
    if (point > 0xFFFF) continue;  // ImWchar has 16 bits
    const auto character = static_cast<ImWchar>(point);
    if (!has_glyph(font, character) && !fonts.more.contains(character)) {
      fonts.wanted.insert(character);
    }
  }
}

}  // namespace lockstep::gui

#include "gui/ui/ui.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gui/render/imgui_compat.h"

namespace lockstep::gui {

Rect Rect::take_top(float height) {
  const Rect piece{x, y, w, height};
  y += height, h -= height;
  return piece;
}

Rect Rect::take_bottom(float height) {
  h -= height;
  return {x, y + h, w, height};
}

Rect Rect::take_left(float width) {
  const Rect piece{x, y, width, h};
  x += width, w -= width;
  return piece;
}

Rect Rect::take_right(float width) {
  w -= width;
  return {x + w, y, width, h};
}

float Ui::line_height(Type type) const { return font_size(*fonts.get(type)); }

namespace {

float measure(const ImFont& font, std::string_view text) {
  return font
      .CalcTextSizeA(font_size(font), FLT_MAX, 0, text.data(),
                     text.data() + text.size())
      .x;
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

float Ui::width(Type type, std::string_view text) const {
  return measure(*fonts.get(type), text);
}

void Ui::text(float x, float y, Type type, ImU32 colour, std::string_view text) const {
  ImFont* font = fonts.get(type);
  want_glyphs(fonts, *font, text);
  list->AddText(font, font_size(*font), {std::floor(x), std::floor(y)}, colour,
                text.data(), text.data() + text.size());
}

void Ui::text_right(float x, float y, Type type, ImU32 colour,
                    std::string_view text) const {
  this->text(x - width(type, text), y, type, colour, text);
}

void Ui::text_centred(const Rect& in, Type type, ImU32 colour,
                      std::string_view text) const {
  this->text(in.x + (in.w - width(type, text)) / 2,
             in.y + (in.h - line_height(type)) / 2, type, colour, text);
}

std::string_view fitting_prefix(const ImFont& font, float size, std::string_view text,
                                float room) {
  const char* end = text.data() + text.size();
  const char* rest = nullptr;
  font.CalcTextSizeA(size, room, 0, text.data(), end, &rest);
  size_t length = static_cast<size_t>(rest - text.data());
  while (length > 0 && length < text.size() && is_continuation(text[length])) --length;
  return text.substr(0, length);
}

float Ui::text_cut(float x, float y, float room, Type type, ImU32 colour,
                   std::string_view text) const {
  if (room <= 4) return 0;
  const float whole = width(type, text);
  if (whole <= room) {
    this->text(x, y, type, colour, text);
    return whole;
  }
  const float dots = width(type, "…");
  const ImFont& font = *fonts.get(type);
  std::string cut(fitting_prefix(font, font_size(font), text, room - dots));
  while (!cut.empty() && cut.back() == ' ') cut.pop_back();
  if (cut.empty()) return 0;
  cut += "…";
  this->text(x, y, type, colour, cut);
  return width(type, cut);
}

float Ui::text_rich(const Rect& in, Type type, Type strong, ImU32 colour,
                    ImU32 emphasis, std::string_view text, bool draw) const {
  const float line = std::round(line_height(type) * 1.38f);
  const float blank = width(type, " ");
  float x = in.x, y = in.y;
  bool bold = false;
  size_t at = 0;
  while (at < text.size()) {
    if (text.substr(at, 2) == "**") {
      bold = !bold;
      at += 2;
      continue;
    }
    if (text[at] == ' ') {
      x += blank;
      ++at;
      continue;
    }
    // A word ends at a space; its style may change within it.
    size_t end = text.find(' ', at);
    end = end == std::string_view::npos ? text.size() : end;
    std::vector<std::pair<std::string_view, bool>> pieces;
    float wide = 0;
    bool face = bold;
    for (size_t from = at; from < end;) {
      size_t mark = text.find("**", from);
      if (mark == std::string_view::npos || mark > end) mark = end;
      const std::string_view piece = text.substr(from, mark - from);
      if (!piece.empty()) {
        pieces.emplace_back(piece, face);
        wide += width(face ? strong : type, piece);
      }
      from = mark;
      if (from < end) face = !face, from += 2;
    }
    if (x > in.x && x + wide > in.right()) x = in.x, y += line;
    for (const auto& [piece, is_bold] : pieces) {
      const Type own = is_bold ? strong : type;
      if (draw) this->text(x, y, own, is_bold ? emphasis : colour, piece);
      x += width(own, piece);
    }
    bold = face;
    at = end;
  }
  return y + line - in.y;
}

void Ui::fill(const Rect& r, ImU32 colour, float rounding) const {
  if (r.w <= 0 || r.h <= 0) return;
  list->AddRectFilled(r.min(), r.max(), colour, rounding);
}

void Ui::frame(const Rect& r, ImU32 colour, float rounding, float width) const {
  list->AddRect(r.min(), r.max(), colour, rounding, 0, width);
}

void Ui::hatch(const Rect& r, ImU32 colour, Hatch hatch) const {
  constexpr float kPitch = 6;
  // Stripes begin at multiples of the pitch, so that neighbouring areas continue them.
  // They are cut here: a clip rectangle would end the list's draw command each time.
  float x = std::floor((r.x - r.h) / kPitch) * kPitch;
  for (; x < r.right(); x += kPitch) {
    const float x0 = std::max(x, r.x), x1 = std::min(x + r.h, r.right());
    if (x1 - x0 < 0.5f) continue;
    if (hatch != Hatch::falling) {
      list->AddLine({x0, r.bottom() - (x0 - x)}, {x1, r.bottom() - (x1 - x)}, colour,
                    1.2f);
    }
    if (hatch != Hatch::rising) {
      list->AddLine({x0, r.y + (x0 - x)}, {x1, r.y + (x1 - x)}, colour, 1.2f);
    }
  }
}

Rect Ui::card(const Rect& r, std::string_view title, std::string_view note) const {
  fill(r, theme.panel, 8);
  frame(r, theme.line, 8);
  Rect inside = r;
  const Rect head = inside.take_top(31);
  list->AddLine({head.x, head.bottom()}, {head.right(), head.bottom()}, theme.line);
  const float baseline = head.y + 9;
  text(head.x + 13, baseline, Type::small, theme.dim, title);
  if (!note.empty()) {
    const float room = head.w - (title.empty() ? 120 : 36) - width(Type::small, title);
    const float wide = std::min(room, width(Type::small, note));
    text_cut(head.right() - 13 - wide, baseline, room, Type::small, theme.faint, note);
  }
  return inside;
}

void Ui::bar(const Rect& r, float share, ImU32 colour, bool solid) const {
  const float round = std::min(3.0f, r.h / 2);
  fill(r, theme.sunken, round);
  const float wide = r.w * std::clamp(share, 0.0f, 1.0f);
  if (wide < 1) return;
  const Rect part{r.x, r.y, std::max(wide, 2.0f), r.h};
  if (solid)
    fill(part, colour, wide < 6 ? 0 : round);
  else
    frame(part, colour, wide < 6 ? 0 : round);
}

bool Ui::clicked(const char* id, const Rect& r, bool* hovered) const {
  if (hovered != nullptr) *hovered = false;
  if (r.w <= 0 || r.h <= 0) return false;
  ImGui::SetCursorScreenPos(r.min());
  const bool clicked = ImGui::InvisibleButton(id, {r.w, r.h});
  if (hovered != nullptr) *hovered = ImGui::IsItemHovered();
  return clicked;
}

bool Ui::button(const char* id, const Rect& r, std::string_view label, bool active,
                Type type) const {
  bool hovered = false;
  const bool pressed = clicked(id, r, &hovered);
  fill(r, active ? theme.accent : hovered ? theme.hover : theme.raised, 6);
  frame(r, active ? theme.accent : theme.line, 6);
  text_centred(r, type, active ? theme.on_accent : theme.text, label);
  return pressed;
}

void Ui::tooltip(std::string_view text) const {
  if (covered || !ImGui::IsItemHovered()) return;
  want_glyphs(fonts, *fonts.get(Type::body), text);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {10, 7});
  ImGui::PushStyleColor(ImGuiCol_PopupBg, theme.raised);
  ImGui::PushStyleColor(ImGuiCol_Border, theme.line);
  ImGui::PushStyleColor(ImGuiCol_Text, theme.text);
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(360);
  ImGui::TextUnformatted(text.data(), text.data() + text.size());
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
  ImGui::PopStyleColor(3);
  ImGui::PopStyleVar();
}

Scroll::Scroll(const Ui& ui, const char* id, const Rect& area, float content,
               float wanted, int stamp, float row)
    : ui_(ui), area_(area) {
  if (row > 0 && content > area.h) {
    area_.h = std::max(row, std::floor(area.h / row) * row);
  }
  ImGuiStorage* storage = ImGui::GetStateStorage();
  ImGui::PushID(id);
  const ImGuiID stamp_key = ImGui::GetID("stamp"), moved_key = ImGui::GetID("moved");
  ImGui::PopID();
  if (storage->GetInt(stamp_key, -1) != stamp) {
    storage->SetInt(stamp_key, stamp);
    storage->SetFloat(moved_key, 0);
  }
  const float most = std::max(0.0f, content - area_.h);
  wanted = std::clamp(wanted, 0.0f, most);
  float moved = storage->GetFloat(moved_key, 0);
  const ImGuiIO& io = ImGui::GetIO();
  const bool over = area_.contains(io.MousePos) && ImGui::IsWindowHovered();
  if (over && io.MouseWheel != 0 && !io.KeyCtrl) moved -= io.MouseWheel * 54;
  moved = std::clamp(wanted + moved, 0.0f, most) - wanted;
  storage->SetFloat(moved_key, moved);
  offset_ = std::round(wanted + moved);
  if (row > 0) offset_ = std::min(most, std::round(offset_ / row) * row);

  ui.list->PushClipRect(area_.min(), area_.max(), true);
  if (most > 0) {
    const float grip = std::min(area_.h, std::max(24.0f, area_.h * area_.h / content));
    const float at = (area_.h - grip) * offset_ / most;
    ui.fill({area_.right() - 5, area_.y + at, 3, grip},
            with_alpha(ui.theme.dim, over ? 0.5f : 0.25f), 1.5f);
  }
}

Scroll::~Scroll() { ui_.list->PopClipRect(); }

}  // namespace lockstep::gui

// The list of keys, and the tour for first-time users.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "gui/app/app.h"
#include "gui/panels/panels.h"
#include "gui/panels/widgets.h"
#include "gui/text/english.h"

namespace lockstep::gui {

namespace {

/// Dims the screen and captures its mouse clicks.
bool dim_screen(const Ui& ui, const Rect& screen, const char* id) {
  ui.fill(screen, with_alpha(ui.theme.background, ui.theme.dark ? 0.72f : 0.6f));
  return ui.clicked(id, screen);
}

Rect centred(const Rect& screen, float wide, float high) {
  wide = std::min(wide, screen.w - 32);
  high = std::min(high, screen.h - 32);
  return {screen.x + (screen.w - wide) / 2, screen.y + (screen.h - high) / 2, wide,
          high};
}

/// Draws one card of the tour, with its buttons.
void draw_tour_card(const Ui& ui, const Rect& card, const TourCard& stop, App& app) {
  const Theme& t = ui.theme;
  const int count = static_cast<int>(kTour.size());
  ui.fill(card, t.panel, 12);
  ui.frame(card, t.accent, 12, 1.4f);
  ui.text(card.x + 20, card.y + 16, Type::title, t.text, stop.title);
  ui.text_right(card.right() - 20, card.bottom() - 70, Type::small, t.faint,
                fmt::format("{} of {}", app.settings.tour, count));
  ui.text_rich({card.x + 20, card.y + 42, card.w - 40, card.h}, Type::body,
               Type::strong, t.dim, t.text, stop.text);
  const Rect next{card.right() - 20 - 92, card.bottom() - 44, 92, 28};
  const bool last = app.settings.tour == count;
  const Rect skip{card.x + 14, card.bottom() - 44, 64, 28};
  if (!last && ui.clicked("tour skip", skip)) {
    app.settings.tour = 0;
    return;
  }
  if (!last) ui.text_centred(skip, Type::body, t.faint, "Skip");
  if (ui.button("tour next", next, last ? "Begin" : "Next", true)) ++app.settings.tour;
}

float overlapping(const Rect& a, const Rect& b) {
  const float wide = std::min(a.right(), b.right()) - std::max(a.x, b.x);
  const float high = std::min(a.bottom(), b.bottom()) - std::max(a.y, b.y);
  return wide > 0 && high > 0 ? wide * high : 0;
}

/// Places the keys in rows of their own width: in a wide window in two columns, of
/// which the second is the "View" group.
HelpLayout arrange_help(const Ui& ui, const Rect& screen, bool low) {
  constexpr float kMargin = 28, kBetween = 32, kAfterKeys = 20;
  const Type keys_type = low ? Type::mono_small : Type::mono;
  const Type words_type = low ? Type::small : Type::body;
  const float row = low ? 18 : 23, head = low ? 18 : 20, gap = low ? 6 : 10;
  const float top = low ? 54 : 62;
  const bool columns = screen.w > 900;
  const auto column_of = [&](const KeyHelp& key) {
    return columns && std::string_view(key.group) == "View" ? 1 : 0;
  };
  float keys = 0, words[2] = {0, 0}, high[2] = {top, top};
  for (const KeyHelp& key : key_help()) {
    float& wide = words[column_of(key)];
    keys = std::max(keys, ui.width(keys_type, key.keys) + kAfterKeys);
    wide = std::max(wide, std::ceil(ui.width(words_type, key.what)) + 1);
  }
  const float others = 2 * kMargin + (columns ? 2 * keys + kBetween : keys);
  const float wanted = others + words[0] + words[1];
  const float most = std::min(1.0f, (screen.w - 32 - others) / (words[0] + words[1]));
  for (float& wide : words) wide *= most;
  HelpLayout layout;
  const char* group = "";
  for (const KeyHelp& key : key_help()) {
    const int column = column_of(key);
    const float x = kMargin + (column > 0 ? keys + words[0] + kBetween : 0);
    float& y = high[column];
    if (std::string_view(group) != key.group) {
      if (y > top) y += gap;
      group = key.group;
      layout.lines.push_back(
          {{x, y, keys, head}, Type::small, &Theme::accent, key.group});
      y += head;
    }
    layout.lines.push_back({{x, y, keys, row}, keys_type, &Theme::text, key.keys});
    layout.lines.push_back(
        {{x + keys, y, words[column], row}, words_type, &Theme::dim, key.what});
    y += row;
  }
  const float whole = std::max(high[0], high[1]) + 18;
  layout.card = centred(screen, wanted, whole);
  layout.fits = wanted <= layout.card.w && whole <= layout.card.h;
  for (HelpLayout::Line& line : layout.lines) {
    line.box.x += layout.card.x, line.box.y += layout.card.y;
  }
  return layout;
}

}  // namespace

Rect beside(const Rect& focus, const Rect& screen, std::span<const float> wide,
            const std::function<float(float)>& height_of) {
  constexpr float kGap = 12;
  Rect best;
  float least = FLT_MAX;
  for (const float w : wide) {
    const float h = height_of(w);
    const float middle = focus.x + (focus.w - w) / 2, top = focus.y + focus.h * 0.2f;
    for (const Rect at :
         {Rect{focus.right() + kGap, top, w, h}, Rect{focus.x - kGap - w, top, w, h},
          Rect{middle, focus.bottom() + kGap, w, h},
          Rect{middle, focus.y - kGap - h, w, h}}) {
      Rect card = at;
      card.x = std::clamp(card.x, screen.x + kGap,
                          std::max(screen.x + kGap, screen.right() - w - kGap));
      card.y = std::clamp(card.y, screen.y + kGap,
                          std::max(screen.y + kGap, screen.bottom() - h - kGap));
      const float covered = overlapping(card, focus);
      if (covered >= least) continue;
      least = covered;
      best = card;
    }
  }
  return best;
}

HelpLayout help_layout(const Ui& ui, const Rect& screen) {
  const HelpLayout roomy = arrange_help(ui, screen, false);
  return roomy.fits ? roomy : arrange_help(ui, screen, true);
}

void draw_help(const Ui& ui, const Rect& screen, App& app) {
  const Theme& t = ui.theme;
  ImGui::SetItemAllowOverlap();
  if (dim_screen(ui, screen, "help veil")) app.settings.help = false;
  const HelpLayout layout = help_layout(ui, screen);
  const Rect& card = layout.card;
  ui.fill(card, t.panel, 12);
  ui.frame(card, t.line, 12);
  ui.text(card.x + 28, card.y + 18, Type::huge, t.text, "Keys");
  ui.text_right(card.right() - 28, card.y + 26, Type::body, t.faint, "esc to close");
  for (const HelpLayout::Line& line : layout.lines) {
    if (line.box.bottom() > card.bottom()) continue;
    ui.text_cut(line.box.x, line.box.y, line.box.w, line.type, t.*line.ink, line.text);
  }
}

void draw_tour(const Ui& ui, const Rect& screen, App& app) {
  const Theme& t = ui.theme;
  const int count = static_cast<int>(kTour.size());
  if (app.settings.tour > count) {
    app.settings.tour = 0;
    return;
  }
  const TourCard& stop = kTour[static_cast<size_t>(app.settings.tour - 1)];
  const Rect focus =
      app.tour_places[static_cast<size_t>(app.settings.tour - 1)].inset(-4);
  const ImU32 shade = with_alpha(t.background, t.dark ? 0.66f : 0.55f);
  ui.fill({screen.x, screen.y, screen.w, focus.y - screen.y}, shade);
  ui.fill({screen.x, focus.bottom(), screen.w, screen.bottom() - focus.bottom()},
          shade);
  ui.fill({screen.x, focus.y, focus.x - screen.x, focus.h}, shade);
  ui.fill({focus.right(), focus.y, screen.right() - focus.right(), focus.h}, shade);
  ui.frame(focus, t.accent, 10, 2);
  constexpr float kWidths[] = {400, 340, 280, 230};
  const auto text_height = [&](float wide) {
    return ui.text_rich({0, 0, wide - 40, 0}, Type::body, Type::strong, 0, 0, stop.text,
                        false);
  };
  const Rect card = beside(focus, screen, kWidths,
                           [&](float wide) { return text_height(wide) + 104; });
  const Overlay over(ui, "tour", card);
  draw_tour_card(over.ui, card, stop, app);
}

}  // namespace lockstep::gui

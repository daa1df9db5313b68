// The list of keys, and the tour for first-time users.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "gui/app/app.h"
#include "gui/panels/panels.h"
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

}  // namespace

void draw_help(const Ui& ui, const Rect& screen, App& app) {
  const Theme& t = ui.theme;
  ImGui::SetItemAllowOverlap();
  if (dim_screen(ui, screen, "help veil")) app.settings.help = false;
  const auto& help = key_help();
  const bool columns = screen.w > 900;
  // The second column starts with the "Jump" group.
  const auto is_jump = [](const KeyHelp& key) {
    return std::string(key.group) == "Jump";
  };
  const auto second =
      static_cast<float>(help.end() - std::find_if(help.begin(), help.end(), is_jump));
  const auto rows = static_cast<float>(help.size());
  const float longest = columns ? std::max(second, rows - second) : rows;
  const float high = 66 + 24 * longest + (columns ? 3 : 5) * 30 + 14;
  const Rect card = centred(screen, columns ? 920 : 520, high);
  ui.fill(card, t.panel, 12);
  ui.frame(card, t.line, 12);
  ui.text(card.x + 28, card.y + 22, Type::huge, t.text, "Keys");
  ui.text_right(card.right() - 28, card.y + 30, Type::body, t.faint, "esc to close");
  const float column = columns ? (card.w - 56 - 32) / 2 : card.w - 56;
  float x = card.x + 28, y = card.y + 66;
  std::string group;
  for (const KeyHelp& key : help) {
    if (group != key.group) {
      if (columns && std::string(key.group) == "Jump") {
        x += column + 32;
        y = card.y + 66;
      } else if (!group.empty()) {
        y += 10;
      }
      group = key.group;
      ui.text(x, y, Type::small, t.accent, group);
      y += 20;
    }
    if (y + 20 > card.bottom()) break;
    ui.text(x, y, Type::mono, t.text, key.keys);
    ui.text_cut(x + 150, y, column - 150, Type::body, t.dim, key.what);
    y += 24;
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
  // Place the card next to the area that it describes.
  const float wide = std::min(400.0f, screen.w - 40);
  const float text_high = ui.text_rich({0, 0, wide - 40, 0}, Type::body, Type::strong,
                                       0, 0, stop.text, false);
  const float high = text_high + 104;
  const Rect focus =
      app.tour_places[static_cast<size_t>(app.settings.tour - 1)].inset(-4);
  const ImU32 shade = with_alpha(t.background, t.dark ? 0.66f : 0.55f);
  ui.fill({screen.x, screen.y, screen.w, focus.y - screen.y}, shade);
  ui.fill({screen.x, focus.bottom(), screen.w, screen.bottom() - focus.bottom()},
          shade);
  ui.fill({screen.x, focus.y, focus.x - screen.x, focus.h}, shade);
  ui.fill({focus.right(), focus.y, screen.right() - focus.right(), focus.h}, shade);
  ui.frame(focus, t.accent, 10, 2);
  Rect card{0, 0, wide, high};
  const bool fits_right = focus.right() + wide + 16 < screen.right();
  const bool fits_left = focus.x - wide - 16 > screen.x;
  card.x = fits_right  ? focus.right() + 14
           : fits_left ? focus.x - wide - 14
                       : focus.x + (focus.w - wide) / 2;
  card.y = fits_right || fits_left  ? focus.y + focus.h * 0.2f
           : focus.y > screen.h / 2 ? focus.y - high - 14
                                    : focus.y + focus.h * 0.3f;
  card.x = std::clamp(card.x, screen.x + 12, screen.right() - wide - 12);
  card.y = std::clamp(card.y, screen.y + 12, screen.bottom() - high - 12);
  ui.fill(card, t.panel, 12);
  ui.frame(card, t.accent, 12, 1.4f);
  ui.text(card.x + 20, card.y + 16, Type::title, t.text, stop.title);
  ui.text_right(card.right() - 20, card.y + 18, Type::small, t.faint,
                fmt::format("{} of {}", app.settings.tour, count));
  ui.text_rich({card.x + 20, card.y + 42, wide - 40, text_high}, Type::body,
               Type::strong, t.dim, t.text, stop.text);
  const Rect next{card.right() - 20 - 92, card.bottom() - 44, 92, 28};
  const bool last = app.settings.tour == count;
  if (ui.button("tour next", next, last ? "Begin" : "Next", true)) ++app.settings.tour;
  const Rect skip{card.x + 14, card.bottom() - 44, 64, 28};
  if (!last && ui.clicked("tour skip", skip)) app.settings.tour = 0;
  if (!last) ui.text_centred(skip, Type::body, t.faint, "Skip");
}

}  // namespace lockstep::gui

#include "gui/panels/stage_parts.h"

#include <algorithm>
#include <cmath>

namespace lockstep::gui {

StageLayout lay_out(const Rect& room, size_t devices) {
  StageLayout layout;
  const size_t cards = std::clamp<size_t>(devices, 1, kMaxCards);
  const bool two_rows =
      cards > 8 || (cards > 4 && room.w / static_cast<float>(cards) < 118);
  layout.two_rows = two_rows;
  const size_t columns = two_rows ? (cards + 1) / 2 : cards;

  const float host_h = room.h < 330 ? 40 : 52;
  const float fan = std::clamp(room.h * 0.13f, 26.0f, 90.0f);
  const float arcs = two_rows ? 10 : std::clamp(room.h * 0.2f, 50.0f, 150.0f);
  const float host_w = std::clamp(room.w * 0.3f, 180.0f, 300.0f);
  layout.host = {std::round(room.x + (room.w - host_w) / 2), room.y, host_w, host_h};

  const float gap = std::clamp(room.w * 0.014f, 7.0f, 16.0f);
  const float wide = std::clamp(
      (room.w - gap * static_cast<float>(columns - 1)) / static_cast<float>(columns),
      40.0f, std::clamp(room.w * 0.23f, 250.0f, 540.0f));
  const float rows_h = room.h - host_h - fan - arcs;
  const float row_gap = std::clamp(room.h * 0.08f, 30.0f, 60.0f);
  const float high = std::clamp(two_rows ? (rows_h - row_gap) / 2 : rows_h, 58.0f,
                                std::clamp(room.h * 0.34f, 232.0f, 330.0f));
  layout.compact = wide < 112 || high < 118;

  const float all =
      wide * static_cast<float>(columns) + gap * static_cast<float>(columns - 1);
  const float left = room.x + (room.w - all) / 2;
  const float used = host_h + fan + (two_rows ? 2 * high + row_gap : high) + arcs;
  const float slack = std::max(0.0f, room.h - used);
  layout.host.y += std::round(slack * 0.25f);
  const float top = layout.host.bottom() + fan + slack * 0.25f;
  for (size_t i = 0; i < cards; ++i) {
    const auto row = static_cast<float>(i / columns);
    const auto column = static_cast<float>(i % columns);
    layout.cards.push_back({std::round(left + column * (wide + gap)),
                            std::round(top + row * (high + row_gap)), std::round(wide),
                            std::round(high)});
  }
  layout.gap = gap;
  layout.bus = std::round(layout.cards.front().bottom() + row_gap / 2);
  const float bottom = layout.cards.back().bottom();
  layout.below = {room.x, bottom, room.w, room.bottom() - bottom};
  return layout;
}

namespace {

using Curve = std::array<ImVec2, 4>;

ImVec2 on_curve(const Curve& points, float t) {
  const float u = 1 - t;
  const float a = u * u * u, b = 3 * u * u * t, c = 3 * u * t * t, d = t * t * t;
  return {a * points[0].x + b * points[1].x + c * points[2].x + d * points[3].x,
          a * points[0].y + b * points[1].y + c * points[2].y + d * points[3].y};
}

float distance(ImVec2 a, ImVec2 b) { return std::hypot(b.x - a.x, b.y - a.y); }

Curve line(ImVec2 a, ImVec2 b) { return {a, a, b, b}; }

/// Returns an S-shaped curve that leaves and arrives vertically.
Curve bend(ImVec2 from, ImVec2 to) {
  const float high = std::max(6.0f, (to.y - from.y) * 0.62f);
  return {from, ImVec2(from.x, from.y + high), ImVec2(to.x, to.y - high), to};
}

}  // namespace

ImVec2 Path::at(float t) const {
  float whole = 0;
  for (const Curve& curve : curves) whole += distance(curve[0], curve[3]);
  float left = t * whole;
  for (const Curve& curve : curves) {
    const float own = distance(curve[0], curve[3]);
    if (left <= own || &curve == &curves.back()) {
      return on_curve(curve, own > 0 ? std::min(1.0f, left / own) : 1);
    }
    left -= own;
  }
  return {};
}

namespace {

Path host_to_card(const StageLayout& layout, size_t card) {
  const Rect &host = layout.host, &to = layout.cards[card];
  const float spread = (to.centre().x - host.centre().x) / std::max(1.0f, host.w * 2);
  const ImVec2 from(host.centre().x + std::clamp(spread, -1.0f, 1.0f) * host.w * 0.3f,
                    host.bottom());
  const ImVec2 end(to.centre().x, to.y);
  const Rect& above = layout.cards.front();
  if (to.y <= above.y) {
    const float high = std::max(18.0f, (end.y - from.y) * 0.62f);
    return {{{from, ImVec2(from.x, from.y + high), ImVec2(end.x, end.y - high), end}}};
  }
  // Down between the columns, on the side that faces the host.
  const bool left = to.centre().x > host.centre().x;
  const float x = left ? to.x - layout.gap / 2 : to.right() + layout.gap / 2;
  const ImVec2 top(x, above.y), bottom(x, above.bottom());
  return {{bend(from, top), line(top, bottom), bend(bottom, end)}};
}

/// Returns the path along the bus between the rows.
Path along_bus(const StageLayout& layout, size_t from, size_t to) {
  const auto port = [&](size_t card) {
    const Rect& r = layout.cards[card];
    return ImVec2(r.centre().x, r.y < layout.bus ? r.bottom() : r.y);
  };
  const ImVec2 a = port(from), b = port(to);
  const ImVec2 on(a.x, layout.bus), off(b.x, layout.bus);
  return {{line(a, on), line(on, off), line(off, b)}};
}

/// Returns an arc below the cards, whose depth grows with the distance. Incoming and
/// outgoing arcs of a card are attached at different points.
Path card_to_card(const StageLayout& layout, size_t from, size_t to) {
  if (layout.two_rows) return along_bus(layout, from, to);
  const Rect &a = layout.cards[from], &b = layout.cards[to];
  const bool right = b.x > a.x;
  const float shift = std::min(a.w, b.w) * 0.16f * (right ? 1.0f : -1.0f);
  const ImVec2 start(a.centre().x + shift, a.bottom());
  const ImVec2 end(b.centre().x - shift * 0.4f, b.bottom());
  const float apart = std::abs(static_cast<float>(from) - static_cast<float>(to));
  const auto most = static_cast<float>(std::max<size_t>(1, layout.cards.size() - 1));
  const float room = std::max(24.0f, layout.below.h - 14);
  const float depth = room * (0.42f + 0.9f * apart / most);
  const float low = std::max(start.y, end.y) + depth;
  return {{{start, ImVec2(start.x, low), ImVec2(end.x, low), end}}};
}

Path reversed(const Path& path) {
  Path back;
  for (auto curve = path.curves.rbegin(); curve != path.curves.rend(); ++curve) {
    back.curves.push_back({(*curve)[3], (*curve)[2], (*curve)[1], (*curve)[0]});
  }
  return back;
}

}  // namespace

Path path_between(const StageLayout& layout, int from, int to) {
  if (from == kHostDevice && to == kHostDevice) {
    const ImVec2 p(layout.host.right(), layout.host.centre().y);
    return {{line(p, p)}};
  }
  if (from == kHostDevice) {
    return host_to_card(layout, layout.card_of(to));
  }
  if (to == kHostDevice) {
    return reversed(host_to_card(layout, layout.card_of(from)));
  }
  return card_to_card(layout, layout.card_of(from), layout.card_of(to));
}

}  // namespace lockstep::gui

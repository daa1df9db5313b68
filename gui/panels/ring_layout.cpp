
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "gui/model/details.h"
#include "gui/model/stage_messages.h"
#include "gui/panels/stage_parts.h"

namespace lockstep::gui {

namespace {

constexpr float kStub = 13;        ///< points between a card and the ring
constexpr float kFullCards = 218;  ///< height in points from which cards have all parts

/// Some of the cards above, from left to right; the rest below.
struct TwoRows {
  size_t top = 1, bottom = 1;
  size_t columns() const { return std::max(top, bottom); }
};

struct Heights {
  float host, gap, device, channel;
  float row() const { return host + gap + device; }
};

Heights heights_of(const Rect& room) {
  Heights h{};
  if (room.h < kFullCards) {  // two compared traces in a small window
    h.channel = std::clamp(room.h * 0.3f, 36.0f, 84.0f);
    h.host = 15, h.gap = 3;
    h.device = std::max(18.0f, (room.h - h.channel) / 2 - h.host - h.gap);
    return h;
  }
  h.channel = std::clamp(room.h * 0.27f, room.h < 232 ? 64.0f : 84.0f, 150.0f);
  const float row = (room.h - h.channel) / 2;
  h.host = row > 130 ? 27 : 20;
  h.gap = std::clamp(row * 0.1f, 7.0f, 24.0f);
  h.device = std::clamp(row - h.host - h.gap, 40.0f, 230.0f);
  return h;
}

/// Returns the number of cards for ranks that do not all have one.
size_t window_of(const Rect& room) {
  constexpr float kLeastWidth = 96, kGap = 14;
  const auto in_a_row = static_cast<size_t>((room.w + kGap) / (kLeastWidth + kGap));
  return 2 * std::clamp<size_t>(in_a_row, 2, kMaxCards / 2);
}

/// Cuts the strip off `room`: marks of at least 6 points, in up to four rows.
Rect take_strip(Rect& room, size_t ranks) {
  constexpr float kRow = 15;
  const float in_a_row = std::max(1.0f, room.w / 6);
  const float rows =
      std::clamp(std::ceil(static_cast<float>(ranks) / in_a_row), 1.0f, 4.0f);
  const Rect strip = room.take_top(rows * kRow);
  room.take_top(9);
  return strip;
}

void give_card(RingLayout& layout, int device) {
  layout.card[device] = layout.shown.size();
  layout.shown.push_back(device);
}

size_t place_in(const std::vector<int>& order, int device) {
  return static_cast<size_t>(std::find(order.begin(), order.end(), device) -
                             order.begin());
}

/// Chooses the ranks that have a card: all, or the part of the ring whose upper row has
/// `focus` in its middle.
TwoRows choose_ranks(RingLayout& layout, Rect& room, const std::vector<int>& order,
                     int focus) {
  const bool all = order.size() <= kMaxCards;
  const size_t cards = all ? std::max<size_t>(order.size(), 2) : window_of(room);
  size_t first = 0;
  if (!all) {
    layout.strip = take_strip(room, order.size());
    first =
        (place_in(order, focus) + order.size() - (cards / 2 - 1) / 2) % order.size();
  }
  for (size_t i = 0; i < std::min(cards, order.size()); ++i) {
    give_card(layout, order[(first + i) % order.size()]);
  }
  return {(cards + 1) / 2, cards - (cards + 1) / 2};
}

/// Gives cards to up to `most` of order[begin] to order[end - 1], with place `focus` in
/// their middle if it is one of them, else to the first. Returns their number.
size_t choose_of_row(RingLayout& layout, const std::vector<int>& order, size_t begin,
                     size_t end, size_t most, size_t focus) {
  const size_t count = std::min(most, end - begin);
  size_t first = begin;
  if (focus >= begin && focus < end) {
    const size_t before = std::min(focus - begin, (count - 1) / 2);
    first = std::min(focus - before, end - count);
  }
  for (size_t i = first; i < first + count; ++i) give_card(layout, order[i]);
  return count;
}

/// The same for two rows of which the upper one is for the first `above` ranks.
TwoRows choose_two_rows(RingLayout& layout, Rect& room, const std::vector<int>& order,
                        int focus, size_t above) {
  const size_t below = order.size() - above;
  if (order.size() <= kMaxCards) {
    for (const int device : order) give_card(layout, device);
    return {above, below};
  }
  layout.strip = take_strip(room, order.size());
  const size_t columns = window_of(room) / 2, at = place_in(order, focus);
  TwoRows rows;
  rows.top = choose_of_row(layout, order, 0, above, columns, at);
  rows.bottom = choose_of_row(layout, order, above, order.size(), columns, at);
  return rows;
}

/// Returns the position on the loop, 0 to 1, of a point on its upper or lower side.
float share_at(const Rect& loop, float x, bool top) {
  const float straight = loop.w - loop.h;
  const float arc = std::numbers::pi_v<float> * loop.h / 2;
  const float round = 2 * (straight + arc);
  const float along = std::clamp(x - loop.x - loop.h / 2, 0.0f, straight);
  return top ? along / round : (straight + arc + straight - along) / round;
}

/// Sets `order` from a collective's first round. Returns false if it has no full ring.
bool follow_ring(const Model& model, const Collective& collective,
                 std::vector<int>& order) {
  const size_t count = model.devices.size();
  std::vector<int> next(count, kHostDevice);
  for (const uint32_t index : collective.copies) {
    const Copy& copy = model.copies[index];
    if (copy.round != 0 || copy.src < 0 || copy.dst < 0) continue;
    next[copy.src] = copy.dst;
  }
  std::vector<int> found;
  for (int at = 0; at >= 0 && found.size() < count; at = next[at]) {
    if (std::find(found.begin(), found.end(), at) != found.end()) break;
    found.push_back(at);
  }
  if (found.size() != count || next[found.back()] != 0) return false;
  order = std::move(found);
  return true;
}

}  // namespace

std::vector<int> ring_order(const Model& model, bool* recorded) {
  std::vector<int> order(model.devices.size());
  std::iota(order.begin(), order.end(), 0);
  const size_t looked_at = std::min<size_t>(model.collectives.size(), 64);
  for (size_t i = 0; i < looked_at; ++i) {
    if (!follow_ring(model, model.collectives[i], order)) continue;
    if (recorded != nullptr) *recorded = true;
    break;
  }
  return order;
}

bool is_ring(const Model& model) {
  const auto ranks = static_cast<size_t>(model.ranks());
  if (ranks < 2 || model.devices.size() != ranks) return false;
  const std::string mode = model.meta_text(tracer::top::mode);
  if (mode == "hogwild" || mode == "locked") return false;  // all meet at the host
  std::vector<bool> seen(ranks);
  for (const Device& device : model.devices) {
    const auto rank = static_cast<size_t>(device.rank);
    if (rank >= ranks || seen[rank]) return false;
    seen[rank] = true;
  }
  return true;
}

RingLayout lay_out_ring(const Rect& whole, const std::vector<int>& order, int focus,
                        size_t above_all) {
  RingLayout layout;
  Rect room = whole;
  layout.card.assign(order.size(), RingLayout::kNoCard);
  const TwoRows rows = above_all > 0
                           ? choose_two_rows(layout, room, order, focus, above_all)
                           : choose_ranks(layout, room, order, focus);
  const size_t cards = rows.top + rows.bottom;
  const Heights h = heights_of(room);
  const auto columns = static_cast<float>(rows.columns());
  const float gap = std::clamp(room.w * 0.018f, 6.0f, 22.0f);
  const float wide = std::round(
      std::min((room.w - gap * (columns - 1)) / columns, std::max(250.0f, room.h)));
  layout.compact = wide < 120 || h.device < 76;

  const float top = room.y + (room.h - 2 * h.row() - h.channel) / 2;
  const float all = wide * columns + gap * (columns - 1);
  for (size_t i = 0; i < cards; ++i) {
    const bool above = i < rows.top;
    const size_t column = above ? i : above_all > 0 ? i - rows.top : cards - 1 - i;
    const size_t fewer = rows.columns() - (above ? rows.top : rows.bottom);
    const float indent = static_cast<float>(fewer) * (wide + gap) / 2;  // centres it
    const float x = std::round(room.x + (room.w - all) / 2 + indent +
                               static_cast<float>(column) * (wide + gap));
    const float y = above ? top : top + h.row() + h.channel;
    const Rect host{x, std::round(above ? y : y + h.device + h.gap), wide, h.host};
    const Rect device{x, std::round(above ? y + h.host + h.gap : y), wide,
                      std::round(h.device)};
    layout.hosts.push_back(host);
    layout.devices.push_back(device);
  }
  const float share =
      rows.top == 1 ? 0.5f : 0.36f;  // of a card's width, from its centre
  const float reach = std::max(wide * share, h.channel * 0.75f);
  const float first = layout.devices[0].centre().x - reach;
  const float last = layout.devices[rows.top - 1].centre().x + reach;
  const float upper = layout.devices[0].bottom() + kStub;
  const float lower = layout.devices.back().y - kStub;
  layout.loop = {std::max(first, room.x + 6), upper, 0, lower - upper};
  layout.loop.w =
      std::max(std::min(last, room.right() - 6) - layout.loop.x, layout.loop.h * 1.4f);
  layout.loop.x = std::min(layout.loop.x, room.right() - 6 - layout.loop.w);
  for (size_t i = 0; i < cards; ++i) {
    layout.ports.push_back(
        share_at(layout.loop, layout.devices[i].centre().x, i < rows.top));
  }
  layout.others = (layout.ports.back() + layout.ports.front() + 1) / 2;
  return layout;
}

ImVec2 RingLayout::on_loop(float share) const {
  const float straight = loop.w - loop.h, radius = loop.h / 2;
  const float arc = std::numbers::pi_v<float> * radius;
  float along = (share - std::floor(share)) * 2 * (straight + arc);
  if (along < straight) return {loop.x + radius + along, loop.y};
  along -= straight;
  if (along < arc) {
    const float angle = along / radius;
    return {loop.right() - radius + radius * std::sin(angle),
            loop.y + radius - radius * std::cos(angle)};
  }
  along -= arc;
  if (along < straight) return {loop.right() - radius - along, loop.bottom()};
  const float angle = (along - straight) / radius;
  return {loop.x + radius - radius * std::sin(angle),
          loop.y + radius + radius * std::cos(angle)};
}

ImVec2 RingLayout::port(size_t of_card) const {
  const Rect& device = devices[of_card];
  return {on_loop(ports[of_card]).x, is_top(of_card) ? device.bottom() : device.y};
}

Joints joints_of(const Model& model) {
  Joints joints;
  joints.is_chain = is_chain(model);
  if (!joints.is_chain) {
    joints.order = ring_order(model, &joints.recorded);
    return joints;
  }
  joints.order.resize(model.devices.size());
  std::iota(joints.order.begin(), joints.order.end(), 0);
  std::ranges::stable_sort(joints.order, {},
                           [&](int device) { return model.devices[device].rank; });
  joints.recorded = true;
  const int first = joints.order.front(), last = joints.order.back();
  joints.closed = std::ranges::any_of(model.copies, [&](const Copy& copy) {
    return copy.src == last && copy.dst == first &&
           model.strings[copy.why] == reasons::activation;
  });
  return joints;
}

bool Joints::goes_back(const Model& model, const Copy& copy) const {
  if (!is_chain || copy.src < 0 || copy.dst < 0) return false;
  if (closed) return model.strings[copy.why] == reasons::activation_grad;
  return place_in(order, copy.dst) + 1 == place_in(order, copy.src);
}

ImVec2 on_ring_path(const RingLayout& layout, size_t from, size_t to, float t,
                    bool back) {
  if (back) return on_ring_path(layout, to, from, 1 - t);
  constexpr float kOut = 0.1f;  // fraction of the path along each stub
  const auto between = [](ImVec2 a, ImVec2 b, float share) {
    return ImVec2(a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share);
  };
  const float a = layout.share(from);
  float b = layout.share(to);
  if (b <= a) b += 1;
  if (t < kOut && from != RingLayout::kNoCard) {
    return between(layout.port(from), layout.on_loop(a), t / kOut);
  }
  if (t > 1 - kOut && to != RingLayout::kNoCard) {
    return between(layout.on_loop(b), layout.port(to), (t - 1 + kOut) / kOut);
  }
  const float way = std::clamp((t - kOut) / (1 - 2 * kOut), 0.0f, 1.0f);
  return layout.on_loop(a + (b - a) * way);
}

}  // namespace lockstep::gui

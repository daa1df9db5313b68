#include "gui/model/lod.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lockstep::gui {

namespace {

constexpr size_t kEventCost = 3;  ///< in visits; events are farther apart than nodes
constexpr float kLikeDensity = 0.2f;  ///< areas that differ by more are not merged

}  // namespace

double Lod::Node::busy_ns() const {
  return static_cast<double>(length()) * static_cast<double>(busy) / 65535;
}

int Lod::Node::gap_shift() const {
  return std::max(
      0, static_cast<int>(std::bit_width(static_cast<uint64_t>(length()))) - 32);
}

Lod::Pyramid::Pyramid(const Row& row) {
  uint32_t at = row.nodes;
  for (uint32_t size = row.count; size > 0 && (top < 0 || size > 1);) {
    const uint32_t group = top < 0 ? kLodLeaf : kLodFanOut;
    size = size / group + (size % group != 0);
    ++top;
    first[top] = at;
    count[top] = size;
    at += size;
  }
}

const Lod::Row* Lod::row_of(uint32_t lane, uint32_t depth) const {
  if (lane + 1 >= lanes_.size() || depth >= lanes_[lane + 1] - lanes_[lane]) {
    return nullptr;
  }
  return &rows_[lanes_[lane] + depth];
}

uint32_t Lod::depth(uint32_t lane) const {
  const uint32_t rows = lanes_[lane + 1] - lanes_[lane];
  return rows > 1 && rows_[lanes_[lane + 1] - 1].count == 0 ? rows - 1 : rows;
}

std::span<const uint32_t> Lod::row(uint32_t lane, uint32_t depth) const {
  const Row* row = row_of(lane, depth);
  return row == nullptr ? std::span<const uint32_t>()
                        : std::span(index_).subspan(row->first, row->count);
}

/// One query: receives pieces in time order and merges them into spans.
struct Lod::Walk {
  const Lod& lod;
  const Model& model;
  const Row& row;
  const Pyramid pyramid;
  int64_t t0, t1, resolution;
  std::vector<Span>& out;
  LodBudget& budget;
  bool open = false;  ///< the last span may still grow
  double vote = 0;    ///< ns by which its class leads

  bool pay(size_t visits) {
    if (budget.visits < visits) return false;
    budget.visits -= visits;
    return true;
  }

  /// Returns false if the budget is used up.
  bool visit(int level, uint32_t i) {
    if (!pay(1)) return false;
    const Node& node = lod.nodes_[pyramid.first[level] + i];
    if (node.length() <= resolution) {
      uint64_t events = kLodLeaf;
      for (int l = 0; l < level; ++l) events *= kLodFanOut;
      const auto first = static_cast<uint32_t>(i * events);
      const auto count = std::min<uint64_t>(events, row.count - first);
      return add({static_cast<int64_t>(node.begin), static_cast<int64_t>(node.end),
                  first, static_cast<uint32_t>(count),
                  static_cast<float>(node.busy_ns()), node.mostly()});
    }
    if (level == 0) return visit_leaf(node, i * kLodLeaf);
    const uint32_t from = i * kLodFanOut;
    const uint32_t to = std::min(from + kLodFanOut, pyramid.count[level - 1]);
    for (uint32_t child = from; child < to; ++child) {
      const Node& below = lod.nodes_[pyramid.first[level - 1] + child];
      if (static_cast<int64_t>(below.end) < t0) continue;
      if (static_cast<int64_t>(below.begin) > t1) break;
      if (!visit(level - 1, child)) return false;
    }
    return true;
  }

  bool visit_leaf(const Node& node, uint32_t from) {
    const uint32_t to = std::min(from + kLodLeaf, row.count);
    const auto begin = static_cast<int64_t>(node.begin);
    const auto end = static_cast<int64_t>(node.end);
    const int64_t left = static_cast<int64_t>(node.gap_from) << node.gap_shift();
    const int64_t right =
        end - begin - (static_cast<int64_t>(node.gap_to) << node.gap_shift());
    if (node.before_gap == 0 || left > resolution || right > resolution) {
      return visit_events(from, to);
    }
    const auto density = static_cast<float>(
        node.busy_ns() / static_cast<double>(std::max<int64_t>(1, left + right)));
    const auto before = static_cast<uint32_t>(node.before_gap);
    if (begin + left >= t0 &&
        !add({begin, begin + left, from, before, density * static_cast<float>(left),
              static_cast<EventClass>(node.look)})) {
      return false;
    }
    return end - right > t1 || add({end - right, end, from + before, to - from - before,
                                    density * static_cast<float>(right),
                                    static_cast<EventClass>(node.look_after)});
  }

  bool visit_events(uint32_t from, uint32_t to) {
    if (!pay(kEventCost * (to - from))) return false;
    const uint32_t* index = &lod.index_[row.first];
    for (uint32_t p = from; p < to; ++p) __builtin_prefetch(&model.events[index[p]]);
    for (uint32_t place = from; place < to; ++place) {
      const Event& event = model.events[index[place]];
      if (event.end() < t0) continue;
      if (event.ts > t1) break;
      if (!add({event.ts, event.end(), place, 1, static_cast<float>(event.dur),
                lod.look_of(model, index[place])})) {
        return false;
      }
    }
    return true;
  }

  bool add(const Span& piece) {
    const bool small = piece.length() <= resolution;
    if (open && small && piece.begin - out.back().end < resolution &&
        grows_by(out.back(), piece)) {
      Span& span = out.back();
      if (piece.look == span.look)
        vote += piece.busy;
      else if (piece.busy > vote)
        span.look = piece.look, vote = piece.busy - vote;
      else
        vote -= piece.busy;
      span.end = std::max(span.end, piece.end);
      span.count = piece.first + piece.count - span.first;
      span.busy += piece.busy;
      return true;
    }
    if (budget.spans == 0) return false;
    --budget.spans;
    out.push_back(piece);
    open = small;
    vote = piece.busy;
    return true;
  }

  /// A span grows until it is visible, and beyond that only by similar pieces.
  bool grows_by(const Span& span, const Span& piece) const {
    if (span.length() < resolution) return true;
    return span.look == piece.look &&
           std::abs(span.density() - piece.density()) < kLikeDensity;
  }
};

bool Lod::spans(const Model& model, uint32_t lane, uint32_t depth, int64_t t0,
                int64_t t1, int64_t resolution, std::vector<Span>& out,
                LodBudget& budget) const {
  const Row* row = row_of(lane, depth);
  if (row == nullptr || row->count == 0) return true;
  Walk walk{*this, model, *row, Pyramid(*row), t0, t1, resolution, out, budget};
  const Node& top = nodes_[walk.pyramid.first[walk.pyramid.top]];
  if (static_cast<int64_t>(top.end) < t0 || static_cast<int64_t>(top.begin) > t1) {
    return true;
  }
  return walk.visit(walk.pyramid.top, 0);
}

uint32_t Lod::event_at(const Model& model, uint32_t lane, uint32_t depth, int64_t ts,
                       int64_t reach) const {
  const std::span<const uint32_t> events = row(lane, depth);
  const auto after =
      std::upper_bound(events.begin(), events.end(), ts,
                       [&](int64_t t, uint32_t e) { return t < model.events[e].ts; });
  uint32_t best = kNoEvent;
  int64_t distance = reach;
  const auto offer = [&](uint32_t index) {
    const Event& event = model.events[index];
    const int64_t away = std::max<int64_t>({0, event.ts - ts, ts - event.end()});
    if (away < distance || (away == distance && best == kNoEvent)) {
      best = index, distance = away;
    }
  };
  // Events overlap only in the deepest row, where a few of them are examined.
  const auto earliest = after - std::min<std::ptrdiff_t>(after - events.begin(), 32);
  const auto hit = [&] { return best != kNoEvent && distance == 0; };
  for (auto at = after; at != earliest && !hit();) offer(*--at);
  if (after != events.end() && !hit()) offer(*after);
  return best;
}

double Lod::busy(const Model& model, uint32_t lane, uint32_t depth, int64_t t0,
                 int64_t t1) const {
  const Row* row = row_of(lane, depth);
  if (row == nullptr || row->count == 0) return 0;
  const Pyramid pyramid(*row);
  double sum = 0;
  const auto visit = [&](const auto& self, int level, uint32_t i) -> void {
    const Node& node = nodes_[pyramid.first[level] + i];
    const auto begin = static_cast<int64_t>(node.begin);
    const auto end = static_cast<int64_t>(node.end);
    if (end <= t0 || begin >= t1) return;
    if (begin >= t0 && end <= t1) {
      sum += node.busy_ns();
      return;
    }
    if (level == 0) {
      const uint32_t first = i * kLodLeaf;
      for (uint32_t p = first; p < std::min(first + kLodLeaf, row->count); ++p) {
        const Event& event = model.events[index_[row->first + p]];
        const int64_t part =
            std::min(event.end(), t1) - std::max<int64_t>(event.ts, t0);
        sum += static_cast<double>(std::max<int64_t>(0, part));
      }
      return;
    }
    const uint32_t from = i * kLodFanOut;
    const uint32_t to = std::min(from + kLodFanOut, pyramid.count[level - 1]);
    for (uint32_t child = from; child < to; ++child) self(self, level - 1, child);
  };
  visit(visit, pyramid.top, 0);
  return sum;
}

size_t Lod::bytes() const {
  return lanes_.capacity() * sizeof(uint32_t) + rows_.capacity() * sizeof(Row) +
         index_.capacity() * sizeof(uint32_t) + nodes_.capacity() * sizeof(Node);
}

}  // namespace lockstep::gui

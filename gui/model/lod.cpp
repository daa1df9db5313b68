#include "gui/model/lod.h"

#include <algorithm>
#include <cmath>

namespace lockstep::gui {

namespace {

constexpr float kLikeDensity = 0.2f;  ///< merged areas that differ more stay apart

}  // namespace

double Lod::Node::busy_ns() const {
  return static_cast<double>(length()) * static_cast<double>(busy) / 65535;
}

Lod::Pyramid::Pyramid(const Row& row) {
  uint32_t at = row.nodes;
  for (uint32_t size = row.count; size > 0 && (top < 0 || size > 1);) {
    size = (size + kLodFanOut - 1) / kLodFanOut;
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

/// One query: pieces come in by time, and grow into spans.
struct Lod::Walk {
  const Lod& lod;
  const Model& model;
  const Row& row;
  const Pyramid pyramid;
  int64_t t0, t1, resolution;
  std::vector<Span>& out;
  size_t most;
  bool open = false;   ///< the last span may still grow
  double vote = 0;     ///< ns by which its look leads

  /// False when there is no room for more.
  bool visit(int level, uint32_t i) {
    const Node& node = lod.nodes_[pyramid.first[level] + i];
    if (node.length() <= resolution) {
      uint32_t events = kLodFanOut;
      for (int l = 0; l < level; ++l) events *= kLodFanOut;
      return add({static_cast<int64_t>(node.begin), static_cast<int64_t>(node.end),
                  i * events, std::min(events, row.count - i * events),
                  static_cast<float>(node.busy_ns()),
                  static_cast<EventClass>(node.look)});
    }
    const uint32_t from = i * kLodFanOut;
    if (level == 0) return visit_events(from, std::min(from + kLodFanOut, row.count));
    const uint32_t to = std::min(from + kLodFanOut, pyramid.count[level - 1]);
    for (uint32_t child = from; child < to; ++child) {
      const Node& below = lod.nodes_[pyramid.first[level - 1] + child];
      if (static_cast<int64_t>(below.end) < t0) continue;
      if (static_cast<int64_t>(below.begin) > t1) break;
      if (!visit(level - 1, child)) return false;
    }
    return true;
  }

  bool visit_events(uint32_t from, uint32_t to) {
    for (uint32_t place = from; place < to; ++place) {
      const uint32_t index = lod.index_[row.first + place];
      const Event& event = model.events[index];
      if (event.end() < t0) continue;
      if (event.ts > t1) break;
      if (!add({event.ts, event.end(), place, 1, static_cast<float>(event.dur),
                lod.look_of(model, index)})) {
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
      if (piece.look == span.look) vote += piece.busy;
      else if (piece.busy > vote) span.look = piece.look, vote = piece.busy - vote;
      else vote -= piece.busy;
      span.end = std::max(span.end, piece.end);
      span.count = piece.first + piece.count - span.first;
      span.busy += piece.busy;
      return true;
    }
    if (out.size() >= most) return false;
    out.push_back(piece);
    open = small;
    vote = piece.busy;
    return true;
  }

  /// A span grows until it can be seen, and beyond that by more of the same.
  bool grows_by(const Span& span, const Span& piece) const {
    if (span.length() < resolution) return true;
    return span.look == piece.look &&
           std::abs(span.density() - piece.density()) < kLikeDensity;
  }
};

bool Lod::spans(const Model& model, uint32_t lane, uint32_t depth, int64_t t0,
                int64_t t1, int64_t resolution, std::vector<Span>& out,
                size_t most) const {
  const Row* row = row_of(lane, depth);
  if (row == nullptr || row->count == 0) return true;
  Walk walk{*this, model, *row, Pyramid(*row), t0, t1, resolution, out, most};
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
      std::upper_bound(events.begin(), events.end(), ts, [&](int64_t t, uint32_t e) {
        return t < model.events[e].ts;
      });
  uint32_t best = kNoEvent;
  int64_t distance = reach;
  const auto offer = [&](uint32_t index) {
    const Event& event = model.events[index];
    const int64_t away = std::max<int64_t>({0, event.ts - ts, ts - event.end()});
    if (away < distance || (away == distance && best == kNoEvent)) {
      best = index, distance = away;
    }
  };
  // Only in the deepest row do events overlap: there a few are looked at.
  const auto earliest = after - std::min<std::ptrdiff_t>(after - events.begin(), 32);
  for (auto at = after; at != earliest && distance > 0;) offer(*--at);
  if (after != events.end()) offer(*after);
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
    const uint32_t from = i * kLodFanOut;
    if (level == 0) {
      for (uint32_t p = from; p < std::min(from + kLodFanOut, row->count); ++p) {
        const Event& event = model.events[index_[row->first + p]];
        const int64_t part = std::min(event.end(), t1) - std::max<int64_t>(event.ts, t0);
        sum += static_cast<double>(std::max<int64_t>(0, part));
      }
      return;
    }
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

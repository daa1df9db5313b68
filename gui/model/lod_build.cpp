// Builds the pyramids in one pass over the events.
#include <algorithm>
#include <array>
#include <string_view>

#include "gui/model/lod.h"

namespace lockstep::gui {

namespace {

/// Returns true for convolutions and matrix products, which do most of the arithmetic.
bool is_heavy_name(std::string_view name) {
  for (const char* part :
       {"conv", "Conv", "linear", "Linear", "gemm", "addmm", "::mm", "matmul"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

/// Returns a key that is equal for all events of one class.
uint64_t key_of_class(const Event& event, uint32_t why, bool heavy) {
  uint64_t share = 0;
  switch (event.what()) {
    case Kind::phase:
      share = event.name;
      break;
    case Kind::copy:
      share = why;
      break;
    case Kind::kernel:
      share = uint64_t{event.phase} * 2 + heavy;
      break;
    case Kind::collective:
      share = event.phase;
      break;
    default:
      break;
  }
  return share << 8 | event.kind;
}

}  // namespace

class LodBuilder {
 public:
  explicit LodBuilder(const Model& model) : model_(model) {}

  Lod build() {
    name_heavy();
    make_rows();
    place_events();
    for (const Lod::Row& row : lod_.rows_) build_pyramid(row);
    return std::move(lod_);
  }

 private:
  using Node = Lod::Node;

  /// The longest of several events; determines their class.
  struct Longest {
    int64_t dur = -1;
    EventClass look = 0;
    void take(const Longest& other) {
      if (other.dur > dur) *this = other;
    }
  };

  /// The node that is being filled.
  struct Leaf {
    int64_t begin = 0, end = 0, busy = 0;
    int64_t gap_from = 0, gap_to = 0;
    uint32_t placed = 0;  ///< events added to the row
    uint8_t before_gap = 0;
    Longest before, after;  ///< the widest gap; without one, only `before`
  };

  void name_heavy() {
    lod_.heavy_names_.resize(model_.strings.size());
    for (uint32_t i = 0; i < lod_.heavy_names_.size(); ++i) {
      lod_.heavy_names_[i] = is_heavy_name(model_.strings[i]);
    }
  }

  /// Counts the events first, so that each row has its range before it is filled.
  void make_rows() {
    lod_.lanes_.push_back(0);
    for (const Lane& lane : model_.lanes) {
      const int rows = std::clamp(lane.rows + 1, 1, static_cast<int>(kMaxRow) + 1);
      lod_.lanes_.push_back(lod_.lanes_.back() + static_cast<uint32_t>(rows));
    }
    lod_.rows_.resize(lod_.lanes_.back());
    for (const Event& event : model_.events) ++lod_.rows_[row_of(event)].count;
    uint32_t first = 0, nodes = 0;
    for (Lod::Row& row : lod_.rows_) {
      row.first = first;
      row.nodes = nodes;
      first += row.count;
      const Lod::Pyramid pyramid(row);
      for (int level = 0; level <= pyramid.top; ++level) nodes += pyramid.count[level];
    }
    lod_.index_.resize(first);
    lod_.nodes_.resize(nodes);
  }

  uint32_t row_of(const Event& event) const {
    const uint32_t first = lod_.lanes_[event.lane];
    return std::min(first + static_cast<uint32_t>(event.row),
                    lod_.lanes_[event.lane + 1] - 1);
  }

  void place_events() {
    leaves_.resize(lod_.rows_.size());
    size_t copy = 0;
    for (uint32_t i = 0; i < model_.events.size(); ++i) {
      const Event& event = model_.events[i];
      uint32_t why = 0;
      if (event.what() == Kind::copy) {
        while (copy < model_.copies.size() && model_.copies[copy].event < i) ++copy;
        const bool known =
            copy < model_.copies.size() && model_.copies[copy].event == i;
        why = known ? model_.copies[copy].why : 0;
      }
      place(i, event, class_of(event, why, i));
    }
    for (uint32_t row = 0; row < leaves_.size(); ++row) {
      if (leaves_[row].placed % kLodLeaf != 0) close(row);
    }
  }

  void place(uint32_t index, const Event& event, EventClass look) {
    const uint32_t number = row_of(event);
    Leaf& leaf = leaves_[number];
    lod_.index_[lod_.rows_[number].first + leaf.placed] = index;
    const uint32_t inside = leaf.placed % kLodLeaf;
    if (inside == 0) {
      leaf = {event.ts, event.end(), 0, 0, 0, leaf.placed, 0, {}, {}};
    } else if (event.ts - leaf.end > leaf.gap_to - leaf.gap_from) {
      leaf.gap_from = leaf.end, leaf.gap_to = event.ts;
      leaf.before_gap = static_cast<uint8_t>(inside);
      leaf.before.take(leaf.after);
      leaf.after = {};
    }
    ++leaf.placed;
    leaf.end = std::max(leaf.end, event.end());
    leaf.busy += event.dur;
    (leaf.before_gap == 0 ? leaf.before : leaf.after).take({event.dur, look});
    if (leaf.placed % kLodLeaf == 0) close(number);
  }

  void close(uint32_t row) {
    const Leaf& leaf = leaves_[row];
    Node& made = lod_.nodes_[lod_.rows_[row].nodes + (leaf.placed - 1) / kLodLeaf];
    made = node(leaf.begin, leaf.end, static_cast<double>(leaf.busy), leaf.before.look);
    if (leaf.before_gap == 0) return;
    const int shift = made.gap_shift();
    const int64_t up = (int64_t{1} << shift) - 1;
    made.before_gap = leaf.before_gap;
    made.gap_from = static_cast<uint64_t>((leaf.gap_from - leaf.begin + up) >> shift);
    made.gap_to = static_cast<uint64_t>((leaf.gap_to - leaf.begin) >> shift);
    made.look_after = leaf.after.look;
    made.after_leads = leaf.after.dur > leaf.before.dur;
  }

  static Node node(int64_t begin, int64_t end, double busy, EventClass look) {
    const auto length = static_cast<double>(end - begin);
    const double share = length > 0 ? std::min(1.0, busy / length) : 1;
    Node result{};
    result.begin = static_cast<uint64_t>(begin);
    result.end = static_cast<uint64_t>(end);
    result.busy = static_cast<uint16_t>(share * 65535 + 0.5);
    result.look = look;
    return result;
  }

  void build_pyramid(const Lod::Row& row) {
    const Lod::Pyramid pyramid(row);
    for (int level = 1; level <= pyramid.top; ++level) {
      const Node* below = &lod_.nodes_[pyramid.first[level - 1]];
      for (uint32_t i = 0; i < pyramid.count[level]; ++i) {
        const uint32_t from = i * kLodFanOut;
        const uint32_t to = std::min(from + kLodFanOut, pyramid.count[level - 1]);
        lod_.nodes_[pyramid.first[level] + i] = sum(below + from, below + to);
      }
    }
  }

  /// Returns a node that sums up several; its class is the one whose nodes were busy
  /// the longest in total.
  static Node sum(const Node* first, const Node* last) {
    double busy = 0, most = -1;
    uint64_t end = 0;
    uint64_t look = 0;
    for (const Node* node = first; node != last; ++node) {
      busy += node->busy_ns();
      end = std::max<uint64_t>(end, node->end);
      double like = 0;
      for (const Node* other = first; other != last; ++other) {
        if (other->mostly() == node->mostly()) like += other->busy_ns();
      }
      if (like > most) most = like, look = node->mostly();
    }
    return node(static_cast<int64_t>(first->begin), static_cast<int64_t>(end), busy,
                static_cast<EventClass>(look));
  }

  EventClass class_of(const Event& event, uint32_t why, uint32_t index) {
    const bool heavy = lod_.heavy_names_[event.name];
    const uint64_t key = key_of_class(event, why, heavy);
    Memo& memo = memos_[(key ^ key >> 8) % memos_.size()];
    if (memo.key == key) return memo.look;
    auto known = lod_.classes_.find(key);
    if (known == lod_.classes_.end()) {
      const size_t count = lod_.examples_.size();
      const auto next = static_cast<EventClass>(std::min<size_t>(count, 255));
      if (count <= 255) {
        lod_.examples_.push_back(index);
        lod_.heavy_.push_back(event.what() == Kind::kernel && heavy);
      }
      known = lod_.classes_.emplace(key, next).first;
    }
    memo = {key, known->second};
    return known->second;
  }

  struct Memo {
    uint64_t key = UINT64_MAX;
    EventClass look = 0;
  };

  const Model& model_;
  Lod lod_;
  std::vector<Leaf> leaves_;
  std::array<Memo, 256> memos_;
};

Lod build_lod(const Model& model) { return LodBuilder(model).build(); }

EventClass Lod::look_of(const Model& model, uint32_t index) const {
  const Event& event = model.events[index];
  uint32_t why = 0;
  if (event.what() == Kind::copy) {
    const Copy* copy = model.copy_of(index);
    why = copy == nullptr ? 0 : copy->why;
  }
  const bool heavy = heavy_names_[event.name];
  const auto known = classes_.find(key_of_class(event, why, heavy));
  return known == classes_.end() ? EventClass{0} : known->second;
}

}  // namespace lockstep::gui

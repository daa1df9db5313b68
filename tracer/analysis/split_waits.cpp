// Why a device does nothing: follows what its next task waited for.
#include <algorithm>
#include <tuple>
#include <utility>

#include "tracer/analysis/split_parts.h"

namespace lockstep::tracer {

namespace split {

namespace {

/// Waits are followed through this many events.
constexpr int kDeepest = 24;

/// Steps longer than this cannot be multiplied by the number of devices.
constexpr int64_t kLongest = int64_t{1} << 46;

/// Cuts the time from `begin` to `end` into consecutive pieces.
class Cursor {
 public:
  Cursor(int64_t begin, int64_t end) : at_(begin), end_(end) {}
  bool done() const { return at_ >= end_; }
  int64_t at() const { return at_; }
  int64_t end() const { return end_; }
  /// Moves to `to`, at most to the end; calls `visit(from, to)` if that is later.
  template <typename Visit>
  void until(int64_t to, Visit visit) {
    to = std::min(to, end_);
    if (to <= at_) return;
    const int64_t from = std::exchange(at_, to);
    visit(from, to);
  }

 private:
  int64_t at_;
  const int64_t end_;
};

}  // namespace

LaneMap<HostLane> host_lanes(const Trace& trace) {
  LaneMap<HostLane> lanes;
  for (const Event& event : trace.events) {
    if (event.ph != 'X' || is_task(event)) continue;
    HostLane& lane = lanes[lane_of(event)];
    if (lane.outers.empty() || lane.outers.back()->end() <= event.ts) {
      lane.outers.push_back(&event);
    }
    const bool loads = event.is(categories::phase) && event.name == phases::data;
    if (!loads && !event.is(categories::sync)) continue;
    const bool inside = !lane.waits.empty() && event.ts < lane.waits.back().to;
    if (!inside)
      lane.waits.push_back({event.ts, event.end(), loads ? nullptr : &event});
  }
  return lanes;
}

/// Splits one step.
class StepSplit {
 public:
  StepSplit(const Tracks& tracks, const Lanes& lanes, const Index& index,
            const LaneMap<HostLane>& hosts, bool imported, const Step& step)
      : tracks_(tracks),
        lanes_(lanes),
        index_(index),
        hosts_(hosts),
        imported_(imported),
        step_(step) {}

  std::vector<DevicePieces> take() {
    const bool known = step_.length() >= 0 && step_.length() <= kLongest &&
                       tracks_.all().size() < size_t{1} << 16;
    if (!known) return {};
    for (const Track& track : tracks_.all()) {
      pieces_.push_back(pieces_of(track, step_.begin, step_.last_end));
    }
    std::vector<DevicePieces> devices;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const Track& track = tracks_.all()[i];
      spent_.clear();
      for (const Piece& piece : pieces_[i]) take_piece(track, piece);
      devices.push_back({track.rank, track.device, std::move(spent_)});
    }
    return devices;
  }

 private:
  void add(Spent spent, int64_t from, int64_t to) {
    const bool same = !spent_.empty() && spent_.back().spent == spent;
    if (same) {
      spent_.back().end = to;
    } else {
      spent_.push_back({from, to, spent});
    }
  }
  auto adds(Spent spent) {
    return [this, spent](int64_t from, int64_t to) { add(spent, from, to); };
  }

  void take_piece(const Track& track, const Piece& piece) {
    if (!piece.idle) return add(piece.spent, piece.from, piece.to);
    int64_t begin = step_.begin, end = step_.last_end;
    if (const auto own = step_.rank_spans.find(track.rank);
        own != step_.rank_spans.end()) {
      std::tie(begin, end) = own->second;
    }
    Cursor cursor(piece.from, piece.to);
    cursor.until(begin, adds(Spent::imbalance));
    cursor.until(end, [&](int64_t from, int64_t to) {
      const Work* next = track.next(piece.to);
      const bool in_step = next != nullptr && next->task->ts < end;
      if (in_step) return before(*next->task, from, to, 0);
      on_host(main_lane(track.rank), from, to, 0);
    });
    cursor.until(piece.to, adds(Spent::imbalance));
  }

  /// Returns the lane of the rank's training loop.
  LaneKey main_lane(int64_t rank) const {
    for (const Event* phase : step_.phases) {
      if (lanes_.of(*phase).rank == rank) return lane_of(*phase);
    }
    return lane_of(*step_.event);
  }

  /// A device waits for `task`, which starts at `to` or later, to start.
  void before(const Event& task, int64_t begin, int64_t end, int depth) {
    Cursor cursor(begin, end);
    const Event* op = index_.find(task.op);
    if (op == nullptr) return cursor.until(end, adds(Spent::unknown));
    cursor.until(op->ts, [&](int64_t from, int64_t to) {
      on_host(lane_of(*op), from, to, depth + 1);
    });
    const Event* awaited = last_of(task.deps, cursor.at());
    if (awaited != nullptr) {
      cursor.until(awaited->end(), [&](int64_t from, int64_t to) {
        for_event(*awaited, from, to, depth + 1);
      });
    }
    const Event* holder = index_.find(int_arg(task.args, keys::port_held_by, kNone));
    if (holder != nullptr) {
      cursor.until(holder->end(), [&](int64_t from, int64_t to) {
        for_event(*holder, from, to, depth + 1);
      });
    }
    if (const Event* first = tracks_.before(task); first != nullptr) {
      cursor.until(first->end(), [&](int64_t from, int64_t to) {
        for_event(*first, from, to, depth + 1);
      });
    }
    cursor.until(end, adds(imported_ ? Spent::unknown : Spent::wake_ups));
  }

  /// Returns the event that ends last, after `ts`, or nullptr.
  const Event* last_of(const IdList& ids, int64_t ts) const {
    const Event* last = nullptr;
    for (const int64_t id : ids) {
      const Event* event = index_.find(id);
      if (event == nullptr || event->end() <= ts) continue;
      if (last == nullptr || event->end() > last->end()) last = event;
    }
    return last;
  }

  /// A device waits for `event`, which ends at `end` or later.
  void for_event(const Event& event, int64_t begin, int64_t end, int depth) {
    if (!is_task(event)) return on_host(lane_of(event), begin, end, depth);
    const Track* track = tracks_.of(event);
    if (track == nullptr || depth > kDeepest) {
      return add(Spent::imbalance, begin, end);
    }
    const auto& pieces = pieces_[static_cast<size_t>(track - tracks_.all().data())];
    auto piece =
        std::upper_bound(pieces.begin(), pieces.end(), begin,
                         [](int64_t ts, const Piece& other) { return ts < other.to; });
    Cursor cursor(begin, end);
    for (; piece != pieces.end() && !cursor.done(); ++piece) {
      cursor.until(piece->to, [&](int64_t from, int64_t to) {
        if (!piece->idle) return add(for_another(piece->spent), from, to);
        const Event* next = tracks_.next_on_stream(event, piece->to);
        before(next != nullptr && next->ts < event.ts ? *next : event, from, to,
               depth + 1);
      });
    }
    cursor.until(end, adds(Spent::imbalance));
  }

  /// Returns the class of waiting for a device that does `spent`.
  static Spent for_another(Spent spent) {
    const bool own = spent == Spent::computing || spent == Spent::core ||
                     spent == Spent::gpu || spent == Spent::bucket_copies;
    return own ? Spent::imbalance : spent;
  }

  /// A device waits for a host thread.
  void on_host(LaneKey key, int64_t begin, int64_t end, int depth) {
    Cursor cursor(begin, end);
    const HostLane* lane = hosts_.find(key);
    if (lane == nullptr || depth > kDeepest) {
      return cursor.until(end, adds(imported_ ? Spent::unknown : Spent::host));
    }
    auto wait =
        std::upper_bound(lane->waits.begin(), lane->waits.end(), begin,
                         [](int64_t ts, const HostLane::Wait& w) { return ts < w.to; });
    for (; wait != lane->waits.end() && !cursor.done(); ++wait) {
      cursor.until(wait->from, [&](int64_t from, int64_t to) {
        works(*lane, key, from, to, depth);
      });
      cursor.until(wait->to, [&](int64_t from, int64_t to) {
        if (wait->sync == nullptr) return add(Spent::loader, from, to);
        in_sync(*wait->sync, from, to, depth);
      });
    }
    cursor.until(end,
                 [&](int64_t from, int64_t to) { works(*lane, key, from, to, depth); });
  }

  /// The thread is not in a wait: it works, or has not been started yet.
  void works(const HostLane& lane, LaneKey key, int64_t begin, int64_t end, int depth) {
    Cursor cursor(begin, end);
    auto outer = std::upper_bound(
        lane.outers.begin(), lane.outers.end(), begin,
        [](int64_t ts, const Event* event) { return ts < event->end(); });
    for (; outer != lane.outers.end() && !cursor.done(); ++outer) {
      const Event& event = **outer;
      cursor.until(event.ts, [&](int64_t from, int64_t to) {
        const Event* parent = index_.find(event.parent);
        const bool other = parent != nullptr && lane_of(*parent) != key;
        if (!other) return add(Spent::host, from, to);
        on_host(lane_of(*parent), from, to, depth + 1);
      });
      cursor.until(event.end(), adds(Spent::host));
    }
    cursor.until(end, adds(Spent::host));
  }

  void in_sync(const Event& sync, int64_t begin, int64_t end, int depth) {
    if (string_arg(sync.args, keys::why) == reasons::lock) {
      return add(Spent::lock, begin, end);
    }
    Cursor cursor(begin, end);
    if (sync.waits_for.empty() && imported_) {
      return cursor.until(end, adds(Spent::unknown));
    }
    const Event* awaited = last_of(sync.waits_for, begin);
    if (awaited != nullptr) {
      cursor.until(awaited->end(), [&](int64_t from, int64_t to) {
        const bool own = !is_task(*awaited) && lane_of(*awaited) == lane_of(sync);
        if (own) return add(Spent::host, from, to);
        for_event(*awaited, from, to, depth + 1);
      });
    }
    cursor.until(end, adds(Spent::wake_ups));
  }

  const Tracks& tracks_;
  const Lanes& lanes_;
  const Index& index_;
  const LaneMap<HostLane>& hosts_;
  const bool imported_;
  const Step& step_;
  std::vector<std::vector<Piece>> pieces_;  ///< by track
  std::vector<SpentPiece> spent_;           ///< of the current device
};

}  // namespace split

struct Splitter::Waits {
  Waits(const Trace& trace, const Lanes& lanes)
      : lanes(lanes),
        index(trace),
        tracks(trace, lanes),
        hosts(split::host_lanes(trace)),
        imported(trace.lockstep.contains(top::imported)) {
    const auto devices = trace.lockstep.find(top::devices);
    if (devices == trace.lockstep.end() || !devices->is_array()) return;
    for (const Json& device : *devices) {
      no_times |= string_arg(device, keys::name).rfind("null", 0) == 0;
    }
  }

  const Lanes& lanes;
  const Index index;
  const split::Tracks tracks;
  const LaneMap<split::HostLane> hosts;
  const bool imported;
  bool no_times = false;
};

Splitter::Splitter(const Trace& trace, const Lanes& lanes)
    : waits_(std::make_unique<const Waits>(trace, lanes)) {}
Splitter::~Splitter() = default;

std::vector<DevicePieces> Splitter::pieces(const Step& step) const {
  if (waits_->no_times) return {};
  return split::StepSplit(waits_->tracks, waits_->lanes, waits_->index, waits_->hosts,
                          waits_->imported, step)
      .take();
}

}  // namespace lockstep::tracer

#include "tracer/emulate/longest_path.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "tracer/analysis/run_both.h"
#include "tracer/format/lanes.h"
#include "tracer/format/processor.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

int64_t queued(const Event& task) { return duration_arg(task.args, keys::queued_us); }

/// Waiting for a core or the GPU is part of the kernel's weight. Any other time
/// recorded between the last awaited end and the start is not an edge and
/// does not count; neither does the time that a thread took to wake up.
Weights path_weights() {
  return {[](const Event& task) { return task.dur; },
          [](const Event& task, int64_t) {
            return task.is(categories::collective) ? 0 : queued(task);
          },
          [](const Event&, int64_t) { return int64_t{0}; }};
}

class PathFinder {
 public:
  PathFinder(const Lanes& lanes, const TimingGraph& graph, const Schedule& schedule)
      : trace_(graph.trace()), graph_(graph), lanes_(lanes), schedule_(schedule) {}

  std::vector<LongestPath> of(std::span<const Step> steps) {
    const std::vector<size_t> ends = last_moments(steps);
    std::vector<LongestPath> paths(steps.size());
    for (size_t i = 0; i < steps.size(); ++i) {
      const size_t begin = TimingGraph::start_of(place_of(steps[i]));
      paths[i].measured = steps[i].length();
      paths[i].path = schedule_.times[ends[i]] - schedule_.times[begin];
      paths[i].shares = shares(begin, ends[i]);
      paths[i].pieces = pieces(begin, ends[i]);
    }
    return paths;
  }

 private:
  std::vector<PathPiece> pieces(size_t begin, size_t last) {
    std::vector<PathPiece> pieces;
    walk_back(begin, last, [&](uint32_t link, int64_t length) {
      const size_t event = TimingGraph::event_of(links_[link].moment);
      const int64_t end = graph_.recorded(links_[link].moment);
      pieces.push_back({trace_.events[event].id, whats_[what_at(link)], length,
                        end - trace_.events[event].ts});
    });
    std::reverse(pieces.begin(), pieces.end());
    return pieces;
  }

  size_t place_of(const Step& step) const {
    return static_cast<size_t>(step.event - trace_.events.data());
  }

  /// Returns where each step ends in the schedule: at the last of its events.
  std::vector<size_t> last_moments(std::span<const Step> steps) const {
    LaneMap<std::vector<size_t>> of_number;  // steps of several ranks may share it
    std::vector<size_t> ends;
    for (size_t i = 0; i < steps.size(); ++i) {
      ends.push_back(TimingGraph::end_of(place_of(steps[i])));
      of_number[{steps[i].number, 0}].push_back(i);
    }
    for (size_t i = 0; i < trace_.events.size(); ++i) {
      const Event& event = trace_.events[i];
      if (event.ph != 'X' || runs_ahead(event)) continue;
      const auto* candidates = of_number.find({event.step, 0});
      if (candidates == nullptr) continue;
      const size_t end = TimingGraph::end_of(i);
      for (const size_t step : *candidates) {
        const int64_t rank = steps[step].rank;
        if (rank != kNone && lanes_.of(event).rank != rank) continue;
        if (schedule_.times[end] > schedule_.times[ends[step]]) ends[step] = end;
      }
    }
    return ends;
  }

  /// Follows the decisive moments from the end back to the start of the step.
  template <typename Visit>
  void walk_back(size_t begin, size_t last, Visit visit) {
    const int64_t start = schedule_.times[begin];
    uint32_t link = link_of(last);
    while (links_[link].time > start) {
      const uint32_t before = link_before(link);
      if (before == link) break;
      const int64_t from = std::max(links_[before].time, start);
      const int64_t length = links_[link].time - from;
      if (length > 0) visit(link, length);
      link = before;
    }
  }

  /// A moment on the way back. If steps last longer in the schedule than in the
  /// recording, most of a path is shared with the preceding step, so each link is
  /// looked up once and stored contiguously.
  struct Link {
    int64_t time = 0;
    uint32_t moment = 0;
    uint32_t before = kUnknown;  ///< itself: it waits for nothing
    uint32_t what = kUnknown;    ///< index into `whats_`: what it waited for
  };
  static constexpr uint32_t kUnknown = UINT32_MAX;

  uint32_t link_of(size_t moment) {
    if (link_of_.empty()) link_of_.resize(schedule_.times.size(), kUnknown);
    uint32_t& link = link_of_[moment];
    if (link == kUnknown) {
      link = static_cast<uint32_t>(links_.size());
      links_.push_back({schedule_.times[moment], static_cast<uint32_t>(moment)});
    }
    return link;
  }

  uint32_t link_before(uint32_t link) {
    if (links_[link].before == kUnknown) {
      const uint32_t before = link_of(schedule_.decisive[links_[link].moment]);
      links_[link].before = before;
    }
    return links_[link].before;
  }

  std::vector<std::pair<std::string, int64_t>> shares(size_t begin, size_t last) {
    struct Sum {
      int64_t nanoseconds = 0;
      size_t first = 0;  ///< position of its first piece, counted from the last
    };
    std::vector<Sum> sums;
    size_t count = 0;
    walk_back(begin, last, [&](uint32_t link, int64_t length) {
      const size_t what = what_at(link);
      if (what >= sums.size()) sums.resize(what + 1);
      sums[what].nanoseconds = add_within_range(sums[what].nanoseconds, length);
      sums[what].first = ++count;
    });
    std::vector<size_t> order;
    for (size_t what = 0; what < sums.size(); ++what) {
      if (sums[what].first > 0) order.push_back(what);
    }
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return sums[a].first > sums[b].first; });
    std::vector<std::pair<std::string, int64_t>> shares;
    for (const size_t what : order) {
      shares.emplace_back(whats_[what], sums[what].nanoseconds);
    }
    return shares;
  }

  /// Returns the index in `whats_` of what was waited for before a moment.
  size_t what_at(uint32_t link) {
    uint32_t& known = links_[link].what;
    if (known == kUnknown) {
      const std::string what = describe(links_[link].moment);
      const auto found = std::find(whats_.begin(), whats_.end(), what);
      known = static_cast<uint32_t>(found - whats_.begin());
      if (found == whats_.end()) whats_.push_back(what);
    }
    return known;
  }

  std::string describe(size_t moment) const {
    const Event& event = trace_.events[TimingGraph::event_of(moment)];
    if (!is_task(event)) return "host";
    if (!TimingGraph::is_end(moment)) {
      const bool between_ranks = event.args.contains(keys::group);
      return between_ranks ? "waiting for ranks" : queued_;
    }
    std::string_view why, phase;
    event.args.for_each([&](std::string_view key, const Value& value) {
      if (is_name(key, keys::why)) why = value.text();
      if (is_name(key, keys::phase)) phase = value.text();
    });
    if (!why.empty()) return std::string(why);
    if (event.is(categories::kernel) && phase == phases::all_reduce) {
      return "bucket copies";
    }
    return phase.empty() ? event.cat.str() : std::string(phase);
  }

  const Trace& trace_;
  const char* const queued_ = waiting_name(processor_of(trace_.lockstep));
  const TimingGraph& graph_;
  const Lanes& lanes_;
  const Schedule& schedule_;
  std::vector<std::string> whats_;
  std::vector<Link> links_;
  std::vector<uint32_t> link_of_;  ///< of each moment, or kUnknown
};

}  // namespace

LongestPath longest_path(const Trace& trace, const Step& step) {
  const Lanes lanes(trace);
  const TimingGraph graph(trace, lanes, TimingGraph::Covers::complete_events);
  const Schedule schedule = retime(graph, path_weights());
  PathFinder finder(lanes, graph, schedule);
  return finder.of({&step, 1}).front();
}

LongestPaths::LongestPaths(const Trace& trace, const Lanes& lanes)
    : lanes_(lanes),
      graph_(trace, lanes, TimingGraph::Covers::complete_events),
      schedule_(retime(graph_, path_weights())) {}

std::vector<PathPiece> LongestPaths::pieces(const Step& step) const {
  return std::move(PathFinder(lanes_, graph_, schedule_).of({&step, 1})[0].pieces);
}

std::vector<LongestPath> LongestPaths::of(const std::vector<Step>& steps) const {
  const std::span<const Step> all = steps;
  const size_t half = all.size() / 2;
  const auto find = [&](std::span<const Step> some) {
    return PathFinder(lanes_, graph_, schedule_).of(some);
  };
  std::vector<LongestPath> paths, late;
  run_both([&] { paths = find(all.first(half)); },
           [&] { late = find(all.subspan(half)); });
  std::move(late.begin(), late.end(), std::back_inserter(paths));
  return paths;
}

}  // namespace lockstep::tracer

#include "tracer/emulate/longest_path.h"

#include <algorithm>

#include "tracer/emulate/retime.h"
#include "tracer/format/lanes.h"

namespace lockstep::tracer {

namespace {

int64_t queued(const Event& task) { return duration_arg(task.args, "queued_us"); }

/// Waiting for a core belongs to the kernel's weight. What else was recorded between
/// the last awaited end and the start is no edge, and does not count; nor does the
/// time that a thread took to wake up.
Weights path_weights() {
  return {[](const Event& task) { return task.dur; },
          [](const Event& task, int64_t) {
            return task.is("collective") ? 0 : queued(task);
          },
          [](const Event&, int64_t) { return int64_t{0}; }};
}

class PathFinder {
 public:
  explicit PathFinder(const Trace& trace)
      : trace_(trace),
        lanes_(trace),
        graph_(trace),
        schedule_(retime(graph_, path_weights())) {}

  LongestPath of(const Step& step) const {
    LongestPath result;
    const auto first = static_cast<size_t>(step.event - trace_.events.data());
    const size_t begin = TimingGraph::start_of(first);
    size_t last = TimingGraph::end_of(first);
    for (size_t i = 0; i < trace_.events.size(); ++i) {
      if (!belongs(trace_.events[i], step)) continue;
      const size_t end = TimingGraph::end_of(i);
      if (schedule_.times[end] > schedule_.times[last]) last = end;
    }
    result.measured = step.length();
    result.path = schedule_.times[last] - schedule_.times[begin];
    result.pieces = pieces(begin, last);
    return result;
  }

 private:
  bool belongs(const Event& event, const Step& step) const {
    return event.ph == 'X' && event.step == step.number && !runs_ahead(event) &&
           (step.rank == kNone || lanes_.of(event).rank == step.rank);
  }

  /// Follows the decisive moments back from the end, to where the step began.
  std::vector<PathPiece> pieces(size_t begin, size_t last) const {
    std::vector<PathPiece> pieces;
    size_t moment = last;
    while (schedule_.times[moment] > schedule_.times[begin]) {
      const size_t before = schedule_.decisive[moment];
      if (before == moment) break;
      const int64_t from = std::max(schedule_.times[before], schedule_.times[begin]);
      const int64_t length = schedule_.times[moment] - from;
      if (length > 0) pieces.push_back(piece(moment, length));
      moment = before;
    }
    std::reverse(pieces.begin(), pieces.end());
    return pieces;
  }

  PathPiece piece(size_t moment, int64_t length) const {
    const Event& event = trace_.events[TimingGraph::event_of(moment)];
    if (!is_task(event)) return {event.id, "host", length};
    const bool between_ranks = event.args.contains("group");
    if (!TimingGraph::is_end(moment)) {
      return {event.id, between_ranks ? "waiting for ranks" : "waiting for a core",
              length};
    }
    const std::string why = string_arg(event.args, "why");
    if (!why.empty()) return {event.id, why, length};
    const std::string phase = string_arg(event.args, "phase");
    if (event.is("kernel") && phase == "all_reduce") {
      return {event.id, "bucket copies", length};
    }
    return {event.id, phase.empty() ? event.cat : phase, length};
  }

  const Trace& trace_;
  const Lanes lanes_;
  const TimingGraph graph_;
  const Schedule schedule_;
};

}  // namespace

LongestPath longest_path(const Trace& trace, const Step& step) {
  return PathFinder(trace).of(step);
}

std::vector<LongestPath> longest_paths(const Trace& trace,
                                       const std::vector<Step>& steps) {
  const PathFinder finder(trace);
  std::vector<LongestPath> paths;
  for (const Step& step : steps) paths.push_back(finder.of(step));
  return paths;
}

}  // namespace lockstep::tracer

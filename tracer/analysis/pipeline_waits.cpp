// Divides the waits for devices that compute, by what the waits would be without
// delays: first with equally fast stages, then with the passes as long as they were.
#include <algorithm>
#include <cmath>

#include "tracer/analysis/pipeline_parts.h"

namespace lockstep::tracer::grid {
namespace {

using plan::PipelineAction;
using plan::PipelineOp;

struct Timed {
  double begin = 0, end = 0;
};
using TimedPasses = std::vector<Timed>;  ///< by pass

/// Runs the passes of each device in their order, each as soon as its input is
/// computed. `cost` returns how long a pass takes. Returns std::nullopt if an input is
/// missing.
template <typename Cost>
std::optional<TimedPasses> without_delays(const Pipeline& grid, int last_stage,
                                          Cost cost) {
  TimedPasses times(grid.passes.size());
  std::map<Parcel, double> made;
  std::vector<size_t> done(grid.devices.size(), 0);
  std::vector<double> at(grid.devices.size(), 0);
  const auto run_next = [&](size_t device) {
    const uint32_t pass = grid.devices[device].passes[done[device]];
    const PipelineAction& action = grid.passes[pass].action;
    const bool forward = action.op == PipelineOp::forward;
    const bool waits = action.op != PipelineOp::weight_backward &&
                       action.stage != (forward ? 0 : last_stage);
    double begin = at[device];
    if (waits) {
      const int from = action.stage + (forward ? -1 : 1);
      const auto input = made.find(Parcel(forward, from, action.micro_batch));
      if (input == made.end()) return false;
      begin = std::max(begin, input->second);
    }
    times[pass] = {begin, begin + cost(grid.passes[pass])};
    at[device] = times[pass].end;
    ++done[device];
    if (action.op != PipelineOp::weight_backward) {
      made[Parcel(forward, action.stage, action.micro_batch)] = times[pass].end;
    }
    return true;
  };
  size_t left = grid.passes.size();
  for (bool moved = true; moved && left > 0;) {
    moved = false;
    for (size_t device = 0; device < done.size(); ++device) {
      while (done[device] < grid.devices[device].passes.size() && run_next(device)) {
        moved = true;
        --left;
      }
    }
  }
  if (left > 0) return std::nullopt;
  return times;
}

double end_of(const TimedPasses& times) {
  double end = 0;
  for (const Timed& pass : times) end = std::max(end, pass.end);
  return end;
}

std::optional<TimedPasses> with_equal_stages(const Pipeline& grid, int last_stage) {
  std::map<PipelineOp, std::pair<double, double>> costs;  // sum, count
  for (const PipelinePass& pass : grid.passes) {
    auto& [sum, count] = costs[pass.action.op];
    sum += static_cast<double>(pass.running), count += 1;
  }
  return without_delays(grid, last_stage, [&](const PipelinePass& pass) {
    const auto& [sum, count] = costs[pass.action.op];
    return sum / count;
  });
}

/// Names the schedule's share of the waits of one device.
struct Names {
  size_t first_backward = SIZE_MAX, last_forward = 0;  ///< their numbers

  Names(const Pipeline& grid, const PipelineDevice& device) {
    for (size_t n = 0; n < device.passes.size(); ++n) {
      const PipelineOp op = grid.passes[device.passes[n]].action.op;
      if (op == PipelineOp::forward) last_forward = n;
      if (op != PipelineOp::forward) first_backward = std::min(first_backward, n);
    }
  }
  /// Returns what a wait before the n-th pass is called.
  Slot of(size_t n) const {
    const bool fills = first_backward != SIZE_MAX && n <= first_backward;
    if (n == 0 || fills) return Slot::fill;
    return n > last_forward ? Slot::drain : Slot::order;
  }
};

class Waits {
 public:
  Waits(Pipeline& grid, int last_stage)
      : grid_(grid),
        equal_(with_equal_stages(grid, last_stage)),
        real_(without_delays(grid, last_stage, [](const PipelinePass& pass) {
          return static_cast<double>(pass.running);
        })) {}

  void divide() {
    if (equal_) take_ideal();
    for (PipelineDevice& device : grid_.devices) divide(device);
  }

 private:
  void take_ideal() {
    double busy = 0;
    for (const Timed& pass : *equal_) busy += pass.end - pass.begin;
    const double whole = end_of(*equal_) * static_cast<double>(grid_.devices.size());
    if (whole > 0) grid_.ideal = 1 - busy / whole;
  }

  /// Returns how long a device waits before its n-th pass.
  static int64_t wait_in(const TimedPasses& times, const PipelineDevice& device,
                         size_t n) {
    const double before = n == 0 ? 0 : times[device.passes[n - 1]].end;
    const double after =
        n < device.passes.size() ? times[device.passes[n]].begin : end_of(times);
    return std::llround(std::max(0.0, after - before));
  }

  void divide(PipelineDevice& device) {
    const Names names(grid_, device);
    std::map<uint32_t, size_t> number;  // of each pass, on its device
    for (size_t n = 0; n < device.passes.size(); ++n) number[device.passes[n]] = n;
    std::vector<PipelinePiece> pieces;
    size_t wait = SIZE_MAX;
    int64_t planned = 0, uneven = 0;  // what is left of these causes in this wait
    Slot name = Slot::fill;
    for (const PipelinePiece& piece : device.pieces) {
      if (piece.slot != kComputes) {
        pieces.push_back(piece);
        if (piece.slot == kQueued) pieces.back().slot = Slot::order;
        continue;
      }
      const size_t n =
          piece.pass == kNoPass ? device.passes.size() : number[piece.pass];
      if (n != wait) {
        wait = n;
        name = names.of(n);
        planned = equal_ ? wait_in(*equal_, device, n) : INT64_MAX;
        uneven = real_ ? std::max<int64_t>(0, wait_in(*real_, device, n) - planned) : 0;
      }
      int64_t at = piece.begin;
      const auto take = [&](Slot slot, int64_t& left) {
        const int64_t own = std::min(left, piece.end - at);
        left -= own;
        if (own > 0) pieces.push_back({at, at + own, slot, piece.pass});
        at += own;
      };
      take(name, planned);
      take(Slot::uneven, uneven);
      if (at < piece.end) pieces.push_back({at, piece.end, Slot::knock_on, piece.pass});
    }
    device.pieces = std::move(pieces);
  }

  Pipeline& grid_;
  const std::optional<TimedPasses> equal_, real_;
};

}  // namespace

void divide_waits(Pipeline& pipeline, int last_stage) {
  Waits(pipeline, last_stage).divide();
}

}  // namespace lockstep::tracer::grid

#include "gui/model/step_lanes.h"

#include <algorithm>
#include <map>

#include "gui/model/breakdown.h"
#include "gui/model/details.h"

namespace lockstep::gui {

namespace {

/// Adds spans to bins. What has most of a bin is found by a majority vote: it is right
/// wherever anything has more than half of what is busy.
class BinFiller {
 public:
  BinFiller(std::vector<LaneBin>& bins, int64_t length, double weight)
      : bins_(bins), length_(length), weight_(weight) {
    bins_.assign(kLaneBins, {});
    votes_.assign(kLaneBins, 0);
  }

  /// Adds a span in ns since the step's begin.
  void add(int64_t from, int64_t to, uint32_t what) {
    from = std::max<int64_t>(from, 0), to = std::min(to, length_);
    if (from >= to) return;
    const double per_bin = static_cast<double>(length_) / kLaneBins;
    const double first = static_cast<double>(from) / per_bin;
    const double last = static_cast<double>(to) / per_bin;
    for (auto i = static_cast<size_t>(first); i < kLaneBins; ++i) {
      const auto bin = static_cast<double>(i);
      if (bin >= last) break;
      const double part = std::min(last, bin + 1) - std::max(first, bin);
      vote(i, static_cast<float>(part * weight_), what);
    }
  }

 private:
  void vote(size_t i, float part, uint32_t what) {
    LaneBin& bin = bins_[i];
    bin.share = std::min(1.0f, bin.share + part);
    if (bin.what == what || votes_[i] <= 0) {
      bin.what = what;
      votes_[i] += part;
    } else if ((votes_[i] -= part) < 0) {
      bin.what = what;
      votes_[i] = -votes_[i];
    }
  }

  std::vector<LaneBin>& bins_;
  const int64_t length_;
  const double weight_;
  std::vector<float> votes_;
};

/// One kind of work of one device; what overlaps counts once. Add in order of time.
class LaneFiller {
 public:
  LaneFiller(BinFiller* own, BinFiller& all) : own_(own), all_(all) {}

  void add(int64_t from, int64_t to, uint32_t what) {
    from = std::max(from, until_);
    if (from >= to) return;
    until_ = to;
    if (own_ != nullptr) own_->add(from, to, what);
    all_.add(from, to, what);
  }

 private:
  BinFiller* own_;
  BinFiller& all_;
  int64_t until_ = INT64_MIN;
};

using PhaseTimes = std::map<std::string, LanePhase>;

void extend(PhaseTimes& phases, const std::string& name, int64_t from, int64_t to) {
  const auto [place, is_new] = phases.try_emplace(name, LanePhase{name, from, to});
  if (is_new) return;
  place->second.begin = std::min(place->second.begin, from);
  place->second.end = std::max(place->second.end, to);
}

bool is_part_of_joined(const std::string& phase) {
  return phase == phases::scatter || phase == phases::replicate ||
         phase == phases::parallel_apply || phase == phases::gather;
}

/// Returns the tasks of a step in order of time; without device times, its phases.
std::vector<uint32_t> laned_events(const Model& model, const Step& step,
                                   bool on_devices) {
  std::vector<uint32_t> found;
  auto at = std::lower_bound(model.events.begin(), model.events.end(), step.begin,
                             [](const Event& e, int64_t ts) { return e.ts < ts; });
  for (; at != model.events.end() && at->ts <= step.end; ++at) {
    if (step.event != kNoEvent && at->step != step.number) continue;
    if (on_devices ? at->is_task() : at->what() == Kind::phase) {
      found.push_back(static_cast<uint32_t>(at - model.events.begin()));
    }
  }
  return found;
}

/// Sets `busy` of all phases, as the table of the step has it.
void measure_busy(const Breakdown& step, bool on_devices, PhaseTimes& times) {
  for (auto& [name, phase] : times) {
    if (!on_devices) phase.busy = phase.length();
  }
  for (const tracer::NamedPhase& named : step.phases) {
    const auto own = times.find(named.name);
    if (on_devices && own != times.end()) own->second.busy = busiest(named.cost);
  }
  const auto forward = times.find(phases::forward);
  if (on_devices && step.joined_forward && forward != times.end()) {
    forward->second.busy = busiest(*step.joined_forward);
  }
}

PhaseTimes phase_times(const Model& model, const std::vector<uint32_t>& events,
                       const StepLanes& lanes) {
  PhaseTimes times;
  for (const uint32_t index : events) {
    const Event& event = model.events[index];
    const int64_t from = event.ts - lanes.begin;
    const int64_t to = event.end() - lanes.begin;
    if (!lanes.on_devices) {
      extend(times, model.name_of(event), from, to);
    } else if (event.phase != 0) {
      extend(times, model.strings[model.phases[event.phase]], from, to);
    }
  }
  LanePhase joined{phases::forward, INT64_MAX, INT64_MIN};
  for (const auto& [name, phase] : times) {
    if (!is_part_of_joined(name)) continue;
    joined.begin = std::min(joined.begin, phase.begin);
    joined.end = std::max(joined.end, phase.end);
  }
  if (lanes.on_devices && joined.begin < joined.end) times[joined.name] = joined;
  return times;
}

bool is_core(const std::string& phase) {
  return phase == phases::forward || phase == phases::loss ||
         phase == phases::backward || phase == phases::optimizer;
}

/// Gives each phase the first row in which it overlaps none: first the four that every
/// way of training has, then the others, the busiest first.
void place_in_rows(const PhaseTimes& times, StepLanes& lanes) {
  std::vector<LanePhase> all;
  for (const auto& [name, phase] : times) all.push_back(phase);
  std::stable_sort(all.begin(), all.end(), [](const LanePhase& a, const LanePhase& b) {
    return std::pair(is_core(a.name), a.busy) > std::pair(is_core(b.name), b.busy);
  });
  for (LanePhase& phase : all) {
    const auto overlaps = [&](const LanePhase& other) {
      return other.row == phase.row && other.begin < phase.end &&
             phase.begin < other.end;
    };
    while (phase.row < kMostPhaseRows &&
           std::any_of(lanes.phases.begin(), lanes.phases.end(), overlaps)) {
      ++phase.row;
    }
    if (phase.row == kMostPhaseRows) {
      ++lanes.left_out;
      continue;
    }
    lanes.rows = std::max(lanes.rows, phase.row + 1);
    lanes.phases.push_back(std::move(phase));
  }
  std::stable_sort(
      lanes.phases.begin(), lanes.phases.end(),
      [](const LanePhase& a, const LanePhase& b) { return a.begin < b.begin; });
}

void fill_lanes(const Model& model, const std::vector<uint32_t>& events,
                StepLanes& lanes) {
  const size_t count = model.devices.size();
  if (count == 0 || lanes.length <= 0) return;
  const double weight = 1 / static_cast<double>(count);
  BinFiller all_computing(lanes.all.computing, lanes.length, weight);
  BinFiller all_transferring(lanes.all.transferring, lanes.length, weight);
  lanes.devices.resize(count <= kMostOwnLanes ? count : 0);
  std::vector<BinFiller> own;
  own.reserve(2 * lanes.devices.size());  // LaneFiller keeps pointers
  std::vector<LaneFiller> computing, transferring;
  for (size_t i = 0; i < count; ++i) {
    BinFiller *computes = nullptr, *transfers = nullptr;
    if (i < lanes.devices.size()) {
      computes = &own.emplace_back(lanes.devices[i].computing, lanes.length, 1);
      transfers = &own.emplace_back(lanes.devices[i].transferring, lanes.length, 1);
    }
    computing.emplace_back(computes, all_computing);
    transferring.emplace_back(transfers, all_transferring);
  }
  for (const uint32_t index : events) {
    const Event& event = model.events[index];
    const int64_t from = event.ts - lanes.begin, to = event.end() - lanes.begin;
    const uint32_t phase = model.phases[event.phase];
    const int device = model.lanes[event.lane].device;
    const auto transfer = [&](int d, uint32_t what) {
      if (d != kHostDevice) transferring[d].add(from, to, what);
    };
    if (event.what() == Kind::copy) {
      const Copy* copy = model.copy_of(index);
      transfer(copy->src, copy->why);
      if (copy->dst != copy->src) transfer(copy->dst, copy->why);
    } else if (event.what() == Kind::collective) {
      transfer(device, phase);
    } else if (device != kHostDevice && !is_memory_task(model, event)) {
      computing[device].add(from, to, phase);
    }
  }
}

}  // namespace

const LanePhase* StepLanes::phase(const std::string& name) const {
  for (const LanePhase& phase : phases) {
    if (phase.name == name) return &phase;
  }
  return nullptr;
}

StepLanes step_lanes(const Model& model, size_t number) {
  const Step& step = model.steps[number];
  StepLanes lanes;
  lanes.begin = step.begin;
  lanes.length = step.length;
  lanes.on_devices = model.has_device_times();
  const std::vector<uint32_t> events = laned_events(model, step, lanes.on_devices);
  for (const uint32_t index : events) {
    lanes.length = std::max(lanes.length, model.events[index].end() - step.begin);
  }
  PhaseTimes times = phase_times(model, events, lanes);
  measure_busy(break_down(model, number), lanes.on_devices, times);
  place_in_rows(times, lanes);
  if (lanes.on_devices) fill_lanes(model, events, lanes);
  return lanes;
}

}  // namespace lockstep::gui

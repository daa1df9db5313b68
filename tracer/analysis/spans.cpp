#include "tracer/analysis/spans.h"

namespace lockstep::tracer {

PhaseMeter::PhaseSpans& PhaseMeter::begun(std::string_view phase, int64_t from) {
  auto own = std::find_if(phases_.begin(), phases_.end(),
                          [&](const PhaseSpans& p) { return p.name == phase; });
  if (own == phases_.end()) {
    own = phases_.emplace(own);
    own->name = phase;
  }
  own->first = std::min(own->first, from);
  return *own;
}

void PhaseMeter::add_host(std::string_view phase, int64_t from, int64_t to) {
  begun(phase, from).host.add(from, to);
}

void PhaseMeter::add_task(std::string_view phase, int64_t device, int64_t from,
                          int64_t to) {
  PhaseSpans& own = begun(phase, from);
  own.device.add(from, to);
  own.busy[device].add(from, to);
}

std::vector<NamedPhase> PhaseMeter::costs() {
  std::stable_sort(phases_.begin(), phases_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<NamedPhase> costs;
  for (const PhaseSpans& own : phases_) {
    NamedPhase phase{own.name, {own.host.covered(), own.device.extent(), {}}};
    for (const auto& [device, busy] : own.busy) {
      phase.cost.busy[device] = busy.covered();
    }
    costs.push_back(std::move(phase));
  }
  return costs;
}

std::vector<NamedPhase> mean_phases(
    const std::vector<const std::vector<NamedPhase>*>& steps) {
  std::vector<NamedPhase> mean;
  const auto count = static_cast<int64_t>(steps.size());
  for (const std::vector<NamedPhase>* step : steps) {
    for (const auto& [name, cost] : *step) {
      auto sum = std::find_if(mean.begin(), mean.end(),
                              [&](const NamedPhase& p) { return p.name == name; });
      if (sum == mean.end()) sum = mean.insert(sum, {name, {}});
      sum->cost.host += cost.host / count;
      sum->cost.device += cost.device / count;
      for (const auto& [device, busy] : cost.busy) {
        sum->cost.busy[device] += busy / count;
      }
    }
  }
  return mean;
}

}  // namespace lockstep::tracer

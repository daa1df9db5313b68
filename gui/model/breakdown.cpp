#include "gui/model/breakdown.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "gui/model/details.h"
#include "tracer/analysis/spans.h"

namespace lockstep::gui {

namespace {

using tracer::Spans;

struct Collected {
  int64_t first = INT64_MAX;
  Spans host, device;
  bool on_device = false;
};

struct Busy {
  Spans computing, communicating, either;
};

/// Calls `visit` with each event of the step, in time order.
template <typename Visit>
void each_event(const Model& model, const Step& step, Visit visit) {
  auto at = std::lower_bound(model.events.begin(), model.events.end(), step.begin,
                             [](const Event& e, int64_t ts) { return e.ts < ts; });
  for (; at != model.events.end() && at->ts <= step.end; ++at) {
    if (step.event == kNoEvent || at->step == step.number) {
      visit(static_cast<uint32_t>(at - model.events.begin()), *at);
    }
  }
}

}  // namespace

Breakdown break_down(const Model& model, size_t number) {
  const Step& step = model.steps[number];
  Breakdown result;
  result.length = step.end - step.begin;
  const std::vector<uint32_t> one = {step.event};
  for (const uint32_t event : step.by_rank.empty() ? one : step.by_rank) {
    if (event == kNoEvent) continue;
    const int64_t batch = int_arg(args_of(model, model.events[event]), keys::batch);
    result.batch += std::clamp<int64_t>(batch, 0, kMaxBytes / (kMaxRanks + 1));
  }
  std::map<uint32_t, Collected> phases;
  std::map<std::tuple<int, bool, uint32_t>, int64_t> ports;
  std::vector<Busy> busy(model.devices.size());
  each_event(model, step, [&](uint32_t index, const Event& event) {
    if (event.what() == Kind::phase) {
      Collected& phase = phases[event.name];
      phase.first = std::min<int64_t>(phase.first, event.ts);
      phase.host.add(event.ts, event.end());
    }
    if (!event.is_task()) return;
    if (event.phase != 0) {
      Collected& phase = phases[model.phases[event.phase]];
      phase.first = std::min<int64_t>(phase.first, event.ts);
      phase.device.add(event.ts, event.end());
      phase.on_device = true;
    }
    const int device = model.lanes[event.lane].device;
    const auto communicates = [&](int d) {
      if (d == kHostDevice) return;
      busy[d].communicating.add(event.ts, event.end());
      busy[d].either.add(event.ts, event.end());
    };
    if (event.what() == Kind::kernel && device != kHostDevice) {
      busy[device].computing.add(event.ts, event.end());
      busy[device].either.add(event.ts, event.end());
    }
    if (event.what() == Kind::collective) communicates(device);
    if (event.what() != Kind::copy) return;
    const Copy* copy = model.copy_of(index);
    communicates(copy->src);
    if (copy->dst != copy->src) communicates(copy->dst);
    const auto shown = [](int d) { return d == kHostDevice ? INT32_MAX : d; };
    ports[{shown(copy->src), false, copy->why}] += copy->bytes;
    ports[{shown(copy->dst), true, copy->why}] += copy->bytes;
  });
  for (const auto& [name, phase] : phases) {
    result.phases.push_back({name, phase.first, phase.host.covered(),
                             phase.device.extent(), phase.on_device});
  }
  std::stable_sort(result.phases.begin(), result.phases.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [key, bytes] : ports) {
    const auto& [device, in, why] = key;
    result.ports.push_back(
        {device == INT32_MAX ? kHostDevice : device, !in, why, bytes});
  }
  for (const Busy& own : busy) {
    DeviceTime time{own.computing.covered(), own.communicating.covered(), 0};
    time.both = time.computing + time.communicating - own.either.covered();
    result.devices.push_back(time);
  }
  return result;
}

Breakdown mean_breakdown(const Model& model) {
  const size_t count = std::min(model.steps.size(), kMeanSteps);
  const auto divisor = static_cast<int64_t>(count);
  Breakdown mean;
  mean.devices.resize(model.devices.size());
  for (size_t i = model.steps.size() - count; i < model.steps.size(); ++i) {
    const Breakdown step = break_down(model, i);
    mean.length += step.length / divisor;
    mean.batch = std::max(mean.batch, step.batch);
    for (const PhaseTime& phase : step.phases) {
      auto sum = std::find_if(mean.phases.begin(), mean.phases.end(),
                              [&](const PhaseTime& p) { return p.name == phase.name; });
      if (sum == mean.phases.end()) {
        mean.phases.push_back({phase.name, phase.first, 0, 0, phase.on_device});
        sum = mean.phases.end() - 1;
      }
      sum->host += phase.host / divisor;
      sum->device += phase.device / divisor;
      sum->on_device |= phase.on_device;
    }
    for (size_t d = 0; d < step.devices.size(); ++d) {
      mean.devices[d].computing += step.devices[d].computing / divisor;
      mean.devices[d].communicating += step.devices[d].communicating / divisor;
      mean.devices[d].both += step.devices[d].both / divisor;
    }
    for (const PortBytes& port : step.ports) {
      auto sum = std::find_if(mean.ports.begin(), mean.ports.end(), [&](const auto& p) {
        return std::tie(p.device, p.out, p.why) ==
               std::tie(port.device, port.out, port.why);
      });
      if (sum == mean.ports.end()) {
        mean.ports.push_back({port.device, port.out, port.why, 0});
        sum = mean.ports.end() - 1;
      }
      sum->bytes += port.bytes / divisor;
    }
  }
  return mean;
}

}  // namespace lockstep::gui

#include "gui/model/breakdown.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "gui/model/details.h"
#include "tracer/format/own_pace.h"

namespace lockstep::gui {

namespace {

using tracer::Spans;

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

bool is_part_of_forward(const std::string& phase) {
  return phase == phases::scatter || phase == phases::replicate ||
         phase == phases::parallel_apply || phase == phases::gather;
}

/// Returns the id of the device that runs a task; for a copy that arrives at the host,
/// that of its sender.
int64_t worker_of(const Model& model, uint32_t task) {
  int device = model.lanes[model.events[task].lane].device;
  if (device == kHostDevice) {
    const Copy* copy = model.copy_of(task);
    if (copy != nullptr) device = copy->src;
  }
  return device == kHostDevice ? tracer::kHost : model.devices[device].id;
}

/// Returns the rank whose host enqueued a task, or that of a host event.
int rank_that_caused(const Model& model, const Event& event) {
  const Event* at = &event;
  while (!model.lanes[at->lane].is_host() && at->parent != kNoEvent) {
    at = &model.events[at->parent];
  }
  return model.lanes[at->lane].rank;
}

/// Returns `rank` if ranks make this step at their own pace and this one makes it.
int rank_of_step(const Model& model, const Step& step, int rank) {
  const bool several = !step.by_rank.empty();
  const uint32_t own = several ? step.event_of(rank) : kNoEvent;
  if (own == kNoEvent) return kAllRanks;
  return tracer::at_own_pace(args_of(model, model.events[own])) ? rank : kAllRanks;
}

}  // namespace

int64_t Breakdown::rank_time(const Model& model, int rank,
                             std::string_view phase) const {
  for (size_t i = 1; i < model.phases.size(); ++i) {
    const size_t at = static_cast<size_t>(rank) * model.phases.size() + i;
    if (model.strings[model.phases[i]] != phase || at >= rank_spans.size()) continue;
    return std::max<int64_t>(0, rank_spans[at].second - rank_spans[at].first);
  }
  return 0;
}

Breakdown break_down(const Model& model, size_t number, int rank) {
  const Step& step = model.steps[number];
  Breakdown result;
  result.length = step.length;
  result.rank = rank_of_step(model, step, rank);
  const bool of_one = result.rank != kAllRanks;
  const uint32_t own = of_one ? step.event_of(rank) : step.event;
  int64_t last = of_one ? model.events[own].end() : 0;
  const std::vector<uint32_t> one = {own};
  for (const uint32_t event : of_one || step.by_rank.empty() ? one : step.by_rank) {
    if (event == kNoEvent) continue;
    const int64_t batch = int_arg(args_of(model, model.events[event]), keys::batch);
    result.batch += std::clamp<int64_t>(batch, 0, kMaxBytes / (kMaxRanks + 1));
  }
  tracer::PhaseMeter meter, forward;
  std::map<std::tuple<int, bool, uint32_t>, int64_t> ports;
  std::vector<Busy> busy(model.devices.size());
  const size_t ranks = static_cast<size_t>(model.ranks());
  const bool spans = ranks > 1 && ranks * model.phases.size() < (size_t{1} << 20);
  if (spans) {
    result.rank_spans.assign(ranks * model.phases.size(), {kMaxSpan, 0});
  }
  each_event(model, step, [&](uint32_t index, const Event& event) {
    const bool mine = !of_one || rank_that_caused(model, event) == rank;
    if (mine && event.what() == Kind::phase) {
      meter.add_host(model.name_of(event), event.ts, event.end());
    }
    if (!event.is_task()) return;
    if (mine) last = std::max(last, event.end());
    if (mine && event.phase != 0) {
      if (spans) {
        const size_t rank = static_cast<size_t>(model.lanes[event.lane].rank);
        auto& [begin, end] =
            result.rank_spans[rank * model.phases.size() + event.phase];
        begin = std::min<int64_t>(begin, event.ts);
        end = std::max(end, event.end());
      }
      const std::string& phase = model.strings[model.phases[event.phase]];
      meter.add_task(phase, worker_of(model, index), event.ts, event.end());
      if (is_part_of_forward(phase)) {
        forward.add_task(phases::forward, worker_of(model, index), event.ts,
                         event.end());
      }
    }
    const int device = model.lanes[event.lane].device;
    const auto communicates = [&](int d) {
      if (d == kHostDevice) return;
      busy[d].communicating.add(event.ts, event.end());
      busy[d].either.add(event.ts, event.end());
    };
    const bool computes = event.what() == Kind::kernel && !is_memory_task(model, event);
    if (computes && device != kHostDevice) {
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
  if (of_one) result.length = last - model.events[own].ts;
  result.phases = meter.costs();
  for (tracer::NamedPhase& joined : forward.costs()) {
    result.joined_forward = std::move(joined.cost);
  }
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

Breakdown mean_breakdown(const Model& model, int rank) {
  const size_t count = std::min(model.steps.size(), kMeanSteps);
  std::vector<Breakdown> steps;
  std::vector<const std::vector<tracer::NamedPhase>*> phases;
  for (size_t i = model.steps.size() - count; i < model.steps.size(); ++i) {
    steps.push_back(break_down(model, i, rank));
  }
  Breakdown mean;
  const auto is_one = [](const Breakdown& step) { return step.rank != kAllRanks; };
  if (std::any_of(steps.begin(), steps.end(), is_one)) {
    mean.rank = rank;
    std::erase_if(steps, std::not_fn(is_one));
  }
  const auto divisor = static_cast<int64_t>(steps.size());
  mean.devices.resize(model.devices.size());
  for (const Breakdown& step : steps) {
    mean.length += step.length / divisor;
    mean.batch = std::max(mean.batch, step.batch);
    phases.push_back(&step.phases);
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
  mean.phases = tracer::mean_phases(phases);
  return mean;
}

double images_per_second(const Breakdown& step) {
  if (step.batch <= 0 || step.length <= 0) return 0;
  return static_cast<double>(step.batch) * 1e9 / static_cast<double>(step.length);
}

int64_t busiest(const tracer::PhaseCost& cost) {
  int64_t most = 0;
  for (const auto& [device, busy] : cost.busy) most = std::max(most, busy);
  return most;
}

}  // namespace lockstep::gui

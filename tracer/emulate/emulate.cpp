#include "tracer/emulate/emulate.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "tracer/emulate/retime.h"
#include "tracer/format/lanes.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

int64_t as_recorded(const Event&, int64_t recorded) { return recorded; }
int64_t at_once(const Event&, int64_t) { return 0; }

/// Host threads wake up as quickly as recorded.
int64_t never_early(const Event&, int64_t recorded) {
  return std::max<int64_t>(recorded, 0);
}

int64_t copy_time(const Event& copy, const Link& link) {
  const double bytes = std::max(0.0, number_arg(copy.args, keys::bytes));
  const double nanoseconds = link.latency_us * 1e3 + bytes / link.gb_per_s;
  return std::llround(std::min(nanoseconds, static_cast<double>(kMaxTime)));
}

Weights measured() {
  return {[](const Event& task) { return task.dur; }, as_recorded, as_recorded};
}

Weights own_hardware(const Link& link) {
  const auto duration = [link](const Event& task) {
    if (task.is(categories::copy)) return copy_time(task, link);
    if (task.is(categories::kernel))
      return duration_arg(task.args, keys::cpu_us, task.dur);
    return task.dur;
  };
  return {duration, at_once, never_early};
}

void check_link(const Link& link) {
  const bool fine = std::isfinite(link.gb_per_s) && link.gb_per_s > 0 &&
                    std::isfinite(link.latency_us) && link.latency_us >= 0;
  if (!fine) {
    throw std::runtime_error(
        "a link needs a bandwidth above 0 GB/s and a latency of at least 0 µs");
  }
}

}  // namespace

std::string assumptions(const EmulateOptions& options) {
  if (options.measured_durations) return "every recorded duration and gap is kept";
  return fmt::format(
      "each kernel takes its CPU time on a device with its own hardware; the host "
      "keeps its recorded pace; copies: {} GB/s + {} µs",
      options.link.gb_per_s, options.link.latency_us);
}

Trace emulate(const Trace& trace, const EmulateOptions& options) {
  check_link(options.link);
  const Lanes lanes(trace);
  const TimingGraph graph(trace, lanes);
  const Schedule schedule = retime(
      graph, options.measured_durations ? measured() : own_hardware(options.link));

  Trace result = trace;
  for (size_t i = 0; i < result.events.size(); ++i) {
    Event& event = result.events[i];
    if (event.ph == 'M') continue;
    event.ts = schedule.times[TimingGraph::start_of(i)];
    event.dur = schedule.times[TimingGraph::end_of(i)] - event.ts;
    if (is_task(event) && !options.measured_durations)
      event.args[keys::queued_us] = 0.0;
  }
  sort_events(result.events);
  result.lockstep[top::clock] = "emulated";
  result.lockstep[top::emulation] = {
      {"assumed", assumptions(options)},
      {"durations", options.measured_durations ? "measured" : "own hardware"},
      {"link_gb_per_s", options.link.gb_per_s},
      {"link_latency_us", options.link.latency_us}};
  return result;
}

}  // namespace lockstep::tracer

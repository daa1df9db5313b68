#include "tracer/emulate/emulate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/contention.h"
#include "tracer/emulate/hardware_links.h"
#include "tracer/emulate/own_hardware.h"
#include "tracer/emulate/slow_ranks.h"
#include "tracer/format/facts.h"
#include "tracer/format/lanes.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

constexpr int64_t kWakeUp = 20'000;  // ns

int64_t as_recorded(const Event&, int64_t recorded) { return recorded; }
int64_t at_once(const Event&, int64_t) { return 0; }

/// The recorded time for a thread to wake up includes waiting for a core that a kernel
/// occupied; emulated kernels occupy none. A join is not a single wake-up: it also
/// covers unrecorded work of the joined threads.
int64_t wake_up(const Event& sync, int64_t recorded) {
  const bool join = text_arg(sync.args, keys::why) == reasons::join;
  return std::clamp<int64_t>(recorded, 0, join ? kMaxTime : kWakeUp);
}

int64_t time_of_copy(const Event& copy, const Link& link) {
  return copy_time(std::max(0.0, number_arg(copy.args, keys::bytes)), link);
}

Weights measured() {
  return {[](const Event& task) { return task.dur; }, as_recorded, as_recorded};
}

int64_t kernel_time(const Event& kernel) {
  return duration_arg(kernel.args, keys::cpu_us, kernel.dur);
}

std::optional<Route> route_of(const Event& task) {
  if (!task.is(categories::copy)) return std::nullopt;
  const CopyFacts copy = copy_facts(task);
  if (copy.src == kNowhere || copy.dst == kNowhere) return std::nullopt;
  return Route{copy.src, copy.dst};
}

void check_link(const Link& link) {
  const bool fine = std::isfinite(link.gb_per_s) && link.gb_per_s > 0 &&
                    std::isfinite(link.latency_us) && link.latency_us >= 0;
  if (!fine) {
    throw std::runtime_error(
        "a link needs a bandwidth above 0 GB/s and a latency of at least 0 µs");
  }
}

void check_scale(const char* what, double scale, const char* option) {
  if (std::isfinite(scale) && scale > 0) return;
  throw std::runtime_error(fmt::format(
      "{} cannot be {} times as fast; fix: pass a {} above 0", what, scale, option));
}

void check_interference(double interference) {
  if (interference >= 1 && interference <= 100) return;
  throw std::runtime_error(
      fmt::format("kernels cannot take {} times as long during collectives; fix: pass "
                  "an --interference from 1 to 100",
                  interference));
}

/// Removes what an earlier emulation recorded about ports: the link may differ now.
void forget_ports(Trace& trace) {
  for (Event& event : trace.events) {
    if (event.args.contains(keys::port_held_by)) event.args.erase(keys::port_held_by);
    if (event.args.contains(keys::via)) event.args.erase(keys::via);
  }
}

void take_times(const Schedule& schedule, Trace& trace) {
  for (size_t i = 0; i < trace.events.size(); ++i) {
    Event& event = trace.events[i];
    if (event.ph == 'M') continue;
    event.ts = schedule.times[TimingGraph::start_of(i)];
    event.dur = schedule.times[TimingGraph::end_of(i)] - event.ts;
  }
}

void take_waits(const PortSchedule& schedule, Trace& trace) {
  for (size_t i = 0; i < trace.events.size(); ++i) {
    Event& event = trace.events[i];
    if (!is_task(event)) continue;
    event.args[keys::queued_us] = 0.0;
    const uint32_t holder = schedule.port_held_by[i];
    if (holder == PortSchedule::kNoCopy) continue;
    event.args[keys::port_held_by] = trace.events[holder].id;
  }
}

}  // namespace

int64_t copy_time(double bytes, const Link& link) {
  const double nanoseconds = link.latency_us * 1e3 + bytes / link.gb_per_s;
  return std::llround(std::min(nanoseconds, static_cast<double>(kMaxTime)));
}

Weights own_hardware(const EmulateOptions& options) {
  const auto duration = [options](const Event& task) {
    if (task.is(categories::copy)) return time_of_copy(task, options.link);
    if (!task.is(categories::kernel)) return task.dur;
    if (options.compute_scale == 1) return kernel_time(task);
    const double scaled =
        static_cast<double>(kernel_time(task)) / options.compute_scale;
    // At 0 ns, it would have no place in the order of its stream.
    const double least = kernel_time(task) > 0 ? 1 : 0;
    return static_cast<int64_t>(
        std::clamp(scaled, least, static_cast<double>(kMaxTime)));
  };
  return {duration, at_once, wake_up, options.host_scale, options.interference};
}

std::string assumptions(const EmulateOptions& options, Processor processor) {
  if (options.measured_durations) return "every recorded duration and gap is kept";
  const char* const time = processor == Processor::cores ? "CPU time" : "GPU time";
  const std::string kernel =
      options.compute_scale == 1
          ? fmt::format("its {}", time)
          : fmt::format("1/{:.4g} of its {}", options.compute_scale, time);
  const std::string host =
      options.host_scale == 1
          ? "keeps its recorded pace"
          : fmt::format("is {:.4g} times as fast as recorded", options.host_scale);
  const std::string copies =
      options.hardware != nullptr
          ? links_assumed(*options.hardware)
          : fmt::format(
                "{} GB/s + {} µs, one at a time out of a device and one at a "
                "time into it",
                options.link.gb_per_s, options.link.latency_us);
  const std::string slower =
      options.interference == 1
          ? ""
          : fmt::format(", and {:.4g} times as long while a collective is in flight",
                        options.interference);
  return fmt::format(
      "each kernel takes {} on a device with its own hardware{}; the host {} but wakes "
      "up within 20 µs; copies: {}",
      kernel, slower, host, copies);
}

namespace {

/// Returns what neither the trace nor the profile says, or "".
std::string not_known(const EmulateOptions& options, const Trace& trace) {
  if (options.hardware == nullptr || options.measured_durations) return "";
  std::string text = not_in_profile(*options.hardware, options.interference);
  const Json& facts = object_arg(trace.lockstep, top::constructed);
  if (string_arg(facts, "host_source").starts_with("assumed")) {
    text += fmt::format("{}what DataParallel's replicas cost its host is assumed",
                        text.empty() ? "" : ", and ");
  }
  return text;
}

/// What an emulated trace assumes.
struct Assumptions {
  std::string all;
  std::vector<std::string> in_short;  ///< what is not known comes first
};

std::string joined(std::vector<std::string> parts) {
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, "; "));
}

Assumptions assumptions_of(const Trace& result, const EmulateOptions& options) {
  const bool constructed = result.lockstep.contains(top::constructed);
  const std::string unknown = not_known(options, result), how = construction(result),
                    times = assumptions(options, processor_of(result.lockstep));
  std::string slow, contention;
  if (!options.measured_durations) slow = slow_ranks_assumed(result);
  if (!options.measured_durations && constructed && options.hardware != nullptr) {
    contention = contention_assumed(*options.hardware);
  }
  Assumptions made{joined({unknown, times, how, slow, contention}),
                   {unknown, times, how.substr(0, how.find(';')), slow, contention}};
  std::erase(made.in_short, "");
  return made;
}

}  // namespace

std::string assumptions_from(const Trace& recorded, const EmulateOptions& options) {
  return joined(
      {not_known(options, recorded),
       assumptions(options, processor_of(recorded.lockstep)),
       options.hardware == nullptr ? "" : contention_assumed(*options.hardware)});
}

double kernel_flops_per_second(const Trace& trace) {
  double flops = 0, nanoseconds = 0;
  for (const Event& event : trace.events) {
    if (event.ph != 'X' || !event.is(categories::kernel)) continue;
    flops += number_arg(event.args, keys::flops);
    nanoseconds += static_cast<double>(kernel_time(event));
  }
  return nanoseconds > 0 ? flops / nanoseconds * 1e9 : 0;
}

Trace emulate(Trace trace, const EmulateOptions& options) {
  if (trace.lockstep.contains(top::imported)) {
    throw std::runtime_error(
        "an imported trace does not record what its kernels waited for, and without "
        "that, kernels would run at the same time as those they depend on; fix: "
        "emulate a trace that lockstep recorded");
  }
  check_link(options.link);
  check_scale("kernels", options.compute_scale, "--compute-scale");
  check_scale("the host", options.host_scale, "--host-scale");
  check_interference(options.interference);
  Trace result = std::move(trace);
  if (!options.measured_durations) forget_ports(result);
  const Lanes lanes(result);
  const TimingGraph graph(result, lanes);
  if (options.measured_durations) {
    take_times(retime(graph, measured()), result);
  } else if (options.hardware != nullptr) {
    HardwareLinks links(*options.hardware, result);
    const Weights weights = with_slow_ranks(result, own_hardware(options));
    take_times(links.retime(graph, with_contention(*options.hardware, result, weights)),
               result);
    links.describe(result);
  } else {
    const PortSchedule schedule = retime_with_ports(
        graph, with_slow_ranks(result, own_hardware(options)), route_of);
    take_times(schedule, result);
    take_waits(schedule, result);
  }
  sort_events(result.events);
  result.lockstep[top::clock] = values::emulated;
  const Assumptions made = assumptions_of(result, options);
  Json emulation{
      {"assumed", made.all},
      {"assumed_in_short", made.in_short},
      {"durations", options.measured_durations ? values::measured : "own hardware"}};
  if (options.hardware != nullptr && !options.measured_durations) {
    emulation["hardware"] = hardware_facts(*options.hardware, result);
  } else {
    emulation["link_gb_per_s"] = options.link.gb_per_s;
    emulation["link_latency_us"] = options.link.latency_us;
  }
  result.lockstep[top::emulation] = std::move(emulation);
  if (options.compute_scale != 1) {
    result.lockstep[top::emulation]["compute_scale"] = options.compute_scale;
  }
  if (options.host_scale != 1) {
    result.lockstep[top::emulation]["host_scale"] = options.host_scale;
  }
  if (options.interference != 1) {
    result.lockstep[top::emulation]["interference"] = options.interference;
  }
  return result;
}

}  // namespace lockstep::tracer

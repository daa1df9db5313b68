#include "lessons/16-detective/cases.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

#include "engine/runtime/device_context.h"
#include "lessons/16-detective/script.h"
#include "tracer/emulate/emulate.h"

namespace lockstep::lessons::detective {
namespace {

constexpr double kFlopsPerNs = 50, kBytesPerNs = 20;  ///< of a device
constexpr double kKernelNs = 5000;                    ///< of each kernel
constexpr int64_t kHostNs = 200;                      ///< between two recorded times

/// Kernels last as long as the table says; the fault's device takes three times as
/// long.
void time_kernels(tracer::Trace& trace, Fault fault) {
  for (tracer::Event& event : trace.events) {
    if (!event.is("kernel")) continue;
    const auto amount = [&](const char* key) {
      return static_cast<double>(tracer::int_arg(event.args, key, 0));
    };
    double ns = kKernelNs + amount(keys::flops) / kFlopsPerNs +
                amount(keys::bytes) / kBytesPerNs;
    const bool slow = fault == Suspicion::straggler &&
                      tracer::int_arg(event.args, keys::device, 0) == 1;
    if (slow) ns *= 3;
    event.args[keys::cpu_us] = std::round(ns) / 1000;
  }
}

/// Replaces every recorded time by its place among all times, so that nothing depends
/// on how busy the machine was.
void time_host(tracer::Trace& trace) {
  std::set<int64_t> times;
  for (const auto& event : trace.events) times.insert({event.ts, event.end()});
  std::map<int64_t, int64_t> place;
  for (int64_t time : times) place.emplace(time, kHostNs * std::ssize(place));
  for (tracer::Event& event : trace.events) {
    const int64_t end = place[event.end()];
    event.ts = place[event.ts];
    event.dur = end - event.ts;
  }
}

/// Forgets events before the recording, which a wait for a whole stream may name.
void forget_the_past(tracer::Trace& trace) {
  std::set<int64_t> there;
  for (const tracer::Event& event : trace.events) there.insert(event.id);
  const auto absent = [&](int64_t id) { return !there.contains(id); };
  for (tracer::Event& event : trace.events) {
    erase_if(event.deps, absent);
    erase_if(event.waits_for, absent);
  }
}

/// The script is not part of the evidence.
void forget_script(tracer::Trace& trace) {
  const auto forget = [](tracer::Event& event, const char* file, const char* line) {
    if (!tracer::string_arg(event.args, file).starts_with("lessons/")) return;
    event.args.erase(file);
    event.args.erase(line);
  };
  for (tracer::Event& event : trace.events) {
    forget(event, keys::file, keys::line);
    forget(event, keys::def_file, keys::def_line);
  }
  auto& sources = trace.lockstep["sources"];
  for (auto it = sources.begin(); it != sources.end();) {
    it = it.key().starts_with("lessons/") ? sources.erase(it) : std::next(it);
  }
}

tracer::Trace record(Fault fault) {
  runtime::options().threads_per_device = 1;
  if (fault == Suspicion::port) return record_data_parallel();
  if (fault == Suspicion::scale) return record_pipeline();
  return record_ranks(fault);
}

}  // namespace

tracer::Trace run(Fault fault) {
  tracer::Trace trace = record(fault);
  forget_the_past(trace);
  forget_script(trace);
  time_kernels(trace, fault);
  if (fault != Suspicion::loader) time_host(trace);
  tracer::EmulateOptions options;
  options.link = {.gb_per_s = fault == Suspicion::port ? 1.5 : 12, .latency_us = 10};
  trace = tracer::emulate(std::move(trace), options);
  trace.lockstep["emulation"]["assumed"] = fmt::format(
      "each device has a speed of its own, which a table gives; the host costs next to "
      "nothing, except for loading; copies: {} GB/s + {} µs, one at a time out of a "
      "device and one at a time into it",
      options.link.gb_per_s, options.link.latency_us);
  return trace;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {1, Suspicion::loader},    {2, Suspicion::straggler},  {3, Suspicion::hook},
      {4, Suspicion::bucket},    {5, Suspicion::evaluation}, {6, Suspicion::division},
      {7, Suspicion::set_epoch}, {8, Suspicion::port},       {9, Suspicion::seeds},
      {10, Suspicion::scale}};
  return all;
}

std::string file_of(const Case& one) {
  return fmt::format("cases/{:02}.json.gz", one.number);
}

}  // namespace lockstep::lessons::detective

#include "tracer/format/merge_imports.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "tracer/format/args.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kFarApart = 60 * kSecond;

bool is_imported(const Trace& trace) { return trace.lockstep.contains(top::imported); }

int64_t rank_fact_of(const Trace& trace, const char* name) {
  return int_arg(object_arg(trace.other, top::distributed), name, kNone);
}

/// When, on the profiler's absolute clock, a file begins and ends.
std::pair<int64_t, int64_t> recorded(const Trace& trace) {
  const int64_t origin =
      int_arg(object_arg(trace.lockstep, top::rank_clock), "origin_ns");
  int64_t end = 0;
  for (const Event& event : trace.events) end = std::max(end, event.end());
  return {origin, add_within_range(origin, end)};
}

std::string long_time(int64_t ns) {
  const int64_t seconds = ns / kSecond, days = seconds / 86'400;
  if (days > 1) return fmt::format("{} days", days);
  if (seconds >= 7'200) return fmt::format("{} hours", seconds / 3'600);
  return fmt::format("{} seconds", seconds);
}

Json& devices_of(Trace& trace) {
  Json& devices = trace.lockstep[top::devices];
  if (!devices.is_array()) devices = Json::array();
  return devices;
}

bool is_device(const Json& entry) {
  return entry.is_object() && string_arg(entry, keys::name) != "none";
}

bool numbers_collide(std::vector<Trace>& ranks) {
  std::set<int64_t> numbers;
  for (Trace& trace : ranks) {
    for (const Json& device : devices_of(trace)) {
      if (!is_device(device)) continue;
      if (!numbers.insert(int_arg(device, keys::id)).second) return true;
    }
  }
  return false;
}

/// Numbers one rank's devices from `next` on.
void renumber(Trace& trace, int64_t& next) {
  const int64_t rank = rank_fact_of(trace, top::rank);
  std::map<int64_t, int64_t> numbers;
  for (Json& device : devices_of(trace)) {
    if (!is_device(device)) continue;
    numbers[int_arg(device, keys::id)] = next;
    device[keys::id] = next++;
    device[keys::name] =
        fmt::format("{} of rank {}", string_arg(device, keys::name), rank);
  }
  for (Event& event : trace.events) {
    for (const char* key : {keys::device, keys::src, keys::dst}) {
      const auto number = numbers.find(int_arg(event.args, key, kNone));
      if (number == numbers.end()) continue;
      event.args[key] = number->second;
      if (event.ph != 'M' || event.name != names::process_name) continue;
      event.args[keys::name] =
          fmt::format("{} of rank {}", string_arg(event.args, keys::name), rank);
    }
  }
}

}  // namespace

void check_one_job(const std::vector<Trace>& ranks,
                   const std::vector<std::string>& names) {
  for (size_t i = 1; i < ranks.size(); ++i) {
    if (!is_imported(ranks[i])) continue;
    const int64_t size = rank_fact_of(ranks[i], top::world_size);
    const int64_t expected = rank_fact_of(ranks[0], top::world_size);
    if (size != expected && size != kNone && expected != kNone) {
      throw std::runtime_error(
          fmt::format("{} and {} are from different jobs, of {} and {} ranks", names[0],
                      names[i], expected, size));
    }
    const auto [begin, end] = recorded(ranks[i]);
    const auto [first_begin, first_end] = recorded(ranks[0]);
    const int64_t apart = std::max(begin, first_begin) - std::min(end, first_end);
    if (apart <= kFarApart) continue;
    throw std::runtime_error(fmt::format(
        "{} and {} were recorded {} apart: they are from different jobs; fix: merge "
        "files that were recorded at the same time",
        names[0], names[i], long_time(apart)));
  }
}

void qualify_devices(std::vector<Trace>& ranks) {
  if (!std::all_of(ranks.begin(), ranks.end(), is_imported)) return;
  if (numbers_collide(ranks)) {
    int64_t next = 0;
    for (Trace& trace : ranks) renumber(trace, next);
  }
  Json all = Json::array();
  for (Trace& trace : ranks) {
    for (const Json& device : devices_of(trace)) {
      if (is_device(device)) all.push_back(device);
    }
  }
  if (!all.empty()) devices_of(ranks[0]) = std::move(all);
}

}  // namespace lockstep::tracer

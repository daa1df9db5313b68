#include "run/profile_pace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "tracer/format/keys.h"
#include "tracer/record/recorder.h"

namespace lockstep::run {
namespace {

void really_sleep_until(int64_t time) {
  const int64_t left = time - tracer::now_ns();
  if (left > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(left));
}

}  // namespace

ProfilePace::ProfilePace(std::shared_ptr<const tracer::Hardware> hardware,
                         const tracer::PhaseTable& table, int devices,
                         SleepUntil sleep_until)
    : hardware_(std::move(hardware)),
      table_(table),
      sleep_until_(sleep_until ? std::move(sleep_until) : really_sleep_until),
      topology_(*hardware_, devices),
      free_at_(topology_.segments().size(), 0) {}

void ProfilePace::begin_counting(int64_t batch) {
  tracer::times_of(*hardware_->device_times, table_, batch);  // may throw
  std::lock_guard lock(mutex_);
  counting_ = batch;
  counted_ = {};
}

void ProfilePace::end_counting() {
  std::lock_guard lock(mutex_);
  const tracer::PhaseTimes times =
      tracer::times_of(*hardware_->device_times, table_, counting_);
  factors_[counting_] = {times.forward_ms * 1e6 / counted_[forward],
                         times.backward_ms * 1e6 / counted_[backward]};
  counting_ = 0;
  states_.clear();
}

ProfilePace::Part ProfilePace::part_of(const char* phase) {
  namespace phases = tracer::phases;
  const std::string_view name = phase ? phase : "";
  if (name == phases::forward || name == phases::parallel_apply) return forward;
  if (name == phases::backward || name == phases::optimizer) return backward;
  return other;
}

double ProfilePace::estimate(const runtime::KernelWork& work) const {
  const tracer::MeasuredDevice& device = *hardware_->device_times;
  return std::max(static_cast<double>(work.flops) / (device.tflops * 1e3),
                  static_cast<double>(work.bytes) / device.memory_gb_per_s);
}

double ProfilePace::factor(Part part, int64_t batch) const {
  if (part == other || batch == 0) return 1;
  const auto found = factors_.find(batch);
  if (found != factors_.end()) return found->second[part];
  tracer::times_of(*hardware_->device_times, table_, batch);  // may throw
  throw std::runtime_error(
      fmt::format("no step with a batch of {} on a device was planned", batch));
}

int64_t ProfilePace::kernel(const runtime::KernelWork& work) {
  std::lock_guard lock(mutex_);
  const Part part = part_of(work.phase);
  if (counting_ > 0) {
    if (part != other) counted_[part] += estimate(work);
    return 0;
  }
  State& state = states_[work.device];
  if (work.samples > 0 && part != other) state.batch = work.samples;
  const double exact = estimate(work) * factor(part, state.batch) + state.rest;
  const auto whole = std::max<int64_t>(1, std::llround(exact));
  state.rest = exact - static_cast<double>(whole);
  return whole;
}

runtime::Span ProfilePace::copy(Device from, Device to, int64_t bytes, int64_t ready) {
  std::lock_guard lock(mutex_);
  if (counting_ > 0) return {ready, ready};
  const tracer::Path& path = topology_.path(from.trace_id(), to.trace_id());
  double begin = static_cast<double>(ready);
  double slowest = std::numeric_limits<double>::infinity();
  for (const uint32_t segment : path.segments) {
    begin = std::max(begin, free_at_[segment]);
    slowest = std::min(slowest, topology_.segments()[segment].gb_per_s);
  }
  const auto size = static_cast<double>(bytes);
  for (const uint32_t segment : path.segments) free_at_[segment] = begin;
  for (const uint32_t segment : path.segments) {  // one twice if it is passed twice
    free_at_[segment] += size / topology_.segments()[segment].gb_per_s;
  }
  const double length = path.latency_us * 1e3 + size / slowest;
  return {std::llround(begin), std::llround(begin + length)};
}

}  // namespace lockstep::run

// A recorded job, and what the emulator makes of it: lesson 20.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/plan/buckets.h"
#include "engine/plan/coalesce.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/predicates.h"
#include "tracer/analysis/steps.h"
#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/construct/recorded_step.h"
#include "tracer/emulate/emulate.h"
#include "tracer/format/facts.h"
#include "tracer/format/keys.h"

namespace lockstep::lessons::lesson_20 {

// The exercise's types.
struct Recorded {
  double batch, forward, loss, backward, optimizer;
};
struct Bucket {
  double bytes, ready;
};
struct Job {
  Recorded small, large;
  double host_forward, host_backward;
  double sample, parameters, buffers, messages;
  std::vector<Bucket> buckets;
};
struct Machine {
  double devices, speed, latency, gb_per_s;
};

/// Steps of one device with two batches, and what they say.
class RecordedJob {
 public:
  /// `trace` has training steps with two batches.
  explicit RecordedJob(const tracer::Trace& trace);

  Job job;

  /// Returns the length of the constructed and emulated step, in µs.
  double emulated(const std::string& mode, const Machine& machine, int64_t batch) const;

 private:
  tracer::Trace small_, large_;
};

/// Returns a trace without the steps of other batches.
inline tracer::Trace only_batch(tracer::Trace trace, int64_t batch) {
  std::set<int64_t> kept;
  for (const tracer::Step& step : tracer::find_steps(trace)) {
    if (step.train && step.batch == batch) kept.insert(step.number);
  }
  std::erase_if(trace.events, [&](const tracer::Event& event) {
    return event.step != tracer::kNone && !kept.contains(event.step);
  });
  return trace;
}

inline double microseconds(int64_t ns) { return static_cast<double>(ns) / 1000; }

/// Returns the time of a step's kernels in µs, by phase.
inline std::map<std::string, double> kernel_times(const tracer::RecordedStep& step) {
  std::map<std::string, double> times;
  for (const tracer::Event& event : step.events) {
    if (!event.is("kernel")) continue;
    times[std::string(tracer::kernel_facts(event).phase)] +=
        microseconds(tracer::duration_arg(event.args, tracer::keys::cpu_us, event.dur));
  }
  return times;
}

inline Recorded recorded_times(const tracer::RecordedStep& step) {
  std::map<std::string, double> times = kernel_times(step);
  return {static_cast<double>(step.batch), times["forward"], times["loss"],
          times["backward"], times["optimizer"]};
}

/// Returns DDP's buckets, and when each is full.
inline std::vector<Bucket> buckets_of(const tracer::RecordedStep& step) {
  std::map<int64_t, double> passed;  // share of backward, by kernel
  double sum = 0;
  const double all = kernel_times(step)["backward"];
  for (const tracer::Event& event : step.events) {
    if (!event.is("kernel") || tracer::kernel_facts(event).phase != "backward")
      continue;
    sum +=
        microseconds(tracer::duration_arg(event.args, tracer::keys::cpu_us, event.dur));
    passed[event.id] = sum / all;
  }
  std::map<std::string, double> ready;  // by parameter
  for (const tracer::Event& event : step.events) {
    if (event.name != "grad_ready") continue;
    ready[text(event, "param")] = passed[number(event, "by")];
  }
  std::vector<plan::BucketItem> items;
  for (const tracer::ReadyGradient& gradient : step.ready) {
    items.push_back({step.parameters[gradient.parameter].bytes});
  }
  std::vector<Bucket> buckets;
  for (const plan::Bucket& members :
       plan::assign_buckets(items, {plan::kFirstBucketBytes, plan::kBucketCap})) {
    Bucket& bucket = buckets.emplace_back(Bucket{0, 0});
    for (const size_t i : members) {
      const tracer::ModelTensor& parameter = step.parameters[step.ready[i].parameter];
      bucket.bytes += static_cast<double>(parameter.bytes);
      bucket.ready = std::max(bucket.ready, ready[parameter.name]);
    }
  }
  return buckets;
}

inline RecordedJob::RecordedJob(const tracer::Trace& trace) {
  std::set<int64_t> batches;
  for (const tracer::Step& step : tracer::find_steps(trace)) {
    if (step.train) batches.insert(step.batch);
  }
  small_ = only_batch(trace, *batches.begin());
  large_ = only_batch(trace, *batches.rbegin());
  const tracer::RecordedStep small = tracer::recorded_step(small_),
                             large = tracer::recorded_step(large_);
  job.small = recorded_times(small);
  job.large = recorded_times(large);
  const auto host = [&large](const char* phase) {
    return microseconds(tracer::find_phase(large, phase).dur);
  };
  job.host_forward = host("forward");
  job.host_backward = host("backward");
  std::vector<int64_t> sizes;
  job.parameters = job.buffers = 0;
  for (const tracer::ModelTensor& tensor : large.parameters) {
    sizes.push_back(tensor.bytes);
    job.parameters += static_cast<double>(tensor.bytes);
  }
  for (const tracer::ModelTensor& tensor : large.buffers) {
    job.buffers += static_cast<double>(tensor.bytes);
  }
  job.messages = static_cast<double>(plan::coalesce_broadcast(sizes).size());
  job.sample = static_cast<double>(
      number(tracer::find_phase(large, "step"), "input_bytes") / large.batch);
  job.buckets = buckets_of(large);
}

inline double RecordedJob::emulated(const std::string& mode, const Machine& machine,
                                    int64_t batch) const {
  tracer::ConstructedProgram program;
  program.mode = mode;
  program.devices = static_cast<int>(machine.devices);
  program.batch = batch;
  program.further = {&small_};
  tracer::EmulateOptions options;
  options.link = {machine.gb_per_s, machine.latency};
  options.compute_scale = machine.speed;
  const tracer::Trace trace =
      tracer::emulate(tracer::construct(large_, program), options);
  return microseconds(tracer::find_steps(trace).at(0).length());
}

}  // namespace lockstep::lessons::lesson_20

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/runtime/device_context.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/stuck.h"

namespace lockstep::lessons::lesson_04 {

using Benchmark = double(Device, const std::function<void()>&, int,
                         const std::function<double()>&);
using Leads = std::map<int64_t, int64_t>(const tracer::Trace&);

// --- a device that is as slow as possible, and its clock

constexpr double kTick = 1.0 / 180;  ///< the host's time to enqueue one call
constexpr double kCall = 6;          ///< ticks of a call on the device: 30 per second
constexpr double kSlow = 60;         ///< ticks of each of the first two

/// Work on a real stream of a device, with a simulated clock that advances only as
/// follows: enqueuing costs the host one tick, and a call costs the device six. The
/// device is as slow as possible: it does nothing until the host sleeps, waiting for
/// it. So the host's readings do not depend on the machine.
class SlowDevice {
 public:
  SlowDevice(int slow_calls) : slow_calls_(slow_calls) {}
  ~SlowDevice() {
    hurry_ = true;
    runtime::context(device()).synchronize();
  }

  static Device device() { return {DeviceType::reference, 1}; }

  void enqueue() {
    std::lock_guard lock(mutex_);
    meet();
    if (done_ == begun_ && !readings_.empty()) ++found_idle_;
    host_ += 1;
    const double ticks = begun_++ < slow_calls_ ? kSlow : kCall;
    runtime::Task task;
    task.run = [this, launched = host_, ticks] {
      while (!hurry_ && !host_sleeps()) std::this_thread::yield();
      std::lock_guard lock(mutex_);
      device_ = std::max(device_, launched) + ticks;
      ++done_;
    };
    runtime::context(device()).compute().enqueue(std::move(task));
  }

  double now() {
    std::lock_guard lock(mutex_);
    meet();
    readings_.push_back(begun_ - done_);
    return host_ * kTick;
  }

  /// Runs the learner's benchmark; returns its result in ticks.
  double measure(const Exam& exam, int calls) {
    auto* benchmark = exam.function<Benchmark>("seconds_per_call");
    const double seconds =
        benchmark(device(), [this] { enqueue(); }, calls, [this] { return now(); });
    exam.that(readings_.size() >= 2, "how often now() was called", "at least twice",
              fmt::format("{} times", readings_.size()),
              {"use the clock passed to you: only it shows the device's time",
               "A clock that reads itself"});
    return seconds / kTick;
  }

  /// Returns, for each reading of the clock, the number of calls not yet done.
  const std::vector<int>& readings() const { return readings_; }
  /// Returns the number of calls after the first reading that found the device idle.
  int found_idle() const { return found_idle_; }

 private:
  bool host_sleeps() const {
    const std::string before = sleep_of(host_thread_);
    return !before.empty() && sleep_of(host_thread_) == before;
  }

  /// If everything is done, the host has waited for it, so the host's clock catches up
  /// with the device's.
  void meet() {
    if (done_ == begun_) host_ = std::max(host_, device_);
  }

  const int slow_calls_;
  const pid_t host_thread_ = gettid();
  std::atomic<bool> hurry_{false};
  std::mutex mutex_;  // guards the members below
  double host_ = 0, device_ = 0;
  int begun_ = 0, done_ = 0, found_idle_ = 0;
  std::vector<int> readings_;
};

/// One tick until the first call arrives; then the device is never idle.
double true_ticks(int calls) { return (1 + kCall * calls) / calls; }

LESSON_TEST(4, ends_with_a_wait,
            "the work is finished at the last reading of the clock") {
  SlowDevice device(0);
  const double ticks = device.measure(exam, 10);
  exam.at_most(
      "calls still on the device at the last reading", 0, device.readings().back(),
      {fmt::format(
           "the benchmark reports {:.0f} calls per second, but the device executes 30: "
           "it measured how fast the host enqueues calls, not how fast they are "
           "executed. Wait for the device before you read the clock",
           1 / (ticks * kTick)),
       "180 frames per second"});
}

LESSON_TEST(4, begins_with_a_wait, "no work is pending when the clock is first read") {
  SlowDevice device(0);
  device.enqueue();  // unrelated work
  device.measure(exam, 10);
  exam.at_most("calls still on the device at the first reading", 0,
               device.readings().front(),
               {"earlier work (from other code and from the warm-up) is still in the "
                "queue when the clock starts, and its time is counted: wait for this "
                "device, then read the clock",
                "Two readings, two waits"});
}

LESSON_TEST(4, stays_ahead, "between the readings the device is never idle") {
  SlowDevice device(0);
  device.measure(exam, 10);
  exam.at_most("calls that found the device idle, besides the first one", 0,
               device.found_idle() - 1,
               {"a wait after every call makes host and device take turns and adds the "
                "launch time to each call: a training run does not behave like this",
                "Two readings, two waits"});
}

LESSON_TEST(4, warms_up, "the slow first calls are not measured") {
  SlowDevice warm(0), cold(2);
  const double expected = warm.measure(exam, 10), got = cold.measure(exam, 10);
  exam.that(std::abs(got - expected) < 1e-9,
            "seconds per call, if the very first two calls take ten times as long",
            fmt::format("{:.6f}, as if they did not", expected * kTick),
            fmt::format("{:.6f}", got * kTick),
            {"the first calls fill caches, choose kernels and allocate memory. Make "
             "three calls before the measurement, and count none of them",
             "The first calls are slow"});
}

LESSON_TEST(4, per_call, "the seconds of one call") {
  for (int calls : {10, 1, 25}) {
    SlowDevice device(2);
    const double ticks = device.measure(exam, calls);
    exam.that(std::abs(ticks - true_ticks(calls)) < 1e-9,
              fmt::format("seconds per call, over {} calls", calls),
              fmt::format("{:.6f}: one launch, then {} calls without a gap",
                          true_ticks(calls) * kTick, calls),
              fmt::format("{:.6f}", ticks * kTick),
              {"between the readings exactly `calls` calls are made, and their time is "
               "divided by `calls`, not by all calls ever made",
               "Two readings, two waits"});
  }
}

// --- leads

tracer::Event event(const char* cat, int64_t id, int64_t ts, int64_t dur,
                    int64_t op = tracer::kNone) {
  tracer::Event made;
  made.cat = cat;
  made.name = "aten::add";
  made.id = id;
  made.ts = ts;
  made.dur = dur;
  made.op = op;
  return made;
}

LESSON_TEST(4, ahead, "how far the host was ahead of each kernel") {
  tracer::Trace trace;
  trace.events = {
      event("op", 1, 0, 10),          // two kernels: 2 and 4
      event("op", 3, 10, 5),          //
      event("kernel", 2, 12, 4, 1),   // begins 2 after its op's end
      event("op", 9, 15, 30),         //
      event("copy", 8, 16, 1, 3),     // no kernel
      event("kernel", 4, 16, 24, 1),  //
      event("kernel", 7, 40, 3, 9),   // while its op runs, and before that of op 3
      event("kernel", 5, 50, 9, 3),
  };
  const std::map<int64_t, int64_t> expected{{2, 2}, {4, 6}, {5, 35}, {7, 0}};
  exam.equal(
      "kernel → ns from the end of its op to its start, in a trace of four kernels",
      expected, (*exam.function<Leads>("leads"))(trace),
      {"a lead extends from the end of the op that enqueued the kernel (found by its "
       "id, since names repeat and kernels of several streams overtake each other) to "
       "the kernel's start; it is 0 if the op was still running",
       "What the trace shows"});
}

}  // namespace lockstep::lessons::lesson_04

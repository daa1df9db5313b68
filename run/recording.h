// The trace and the summary of a run.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "run/data_sets.h"
#include "tracer/format/trace.h"

namespace lockstep::run {

/// What the file of `--summary` takes from the times of a step.
inline constexpr const char* kTimings[] = {"seconds", "phases", "phases_host"};

/// Records the steps [first, last) of a trainer for `--trace`, and the times of every
/// step for `--summary`. Prints which files it wrote.
class Recording {
 public:
  /// Returns the steps [first, last) that `--trace` records. Throws UsageError if the
  /// run has none of them, unless it continues another one by `--resume auto` or as a
  /// restart: those steps may have been made before.
  static std::pair<int64_t, int64_t> traced_steps(const RunConfig& config,
                                                  int64_t planned);

  /// Hooks into the trainer. Throws UsageError if none of the `steps_planned` steps
  /// (training and evaluation) would be recorded. `devices` are those of this process;
  /// `place` is the rank whose steps are recorded.
  Recording(const RunConfig& config, train::Trainer& trainer, const DataSets& data,
            const parallel::Devices& devices, const RankPlace& place,
            int64_t steps_planned);

  /// Writes the requested files. Must be called once, even after Ctrl-C.
  void finish();

  /// Writes, after a failure, the trace of the steps completed before it, and prints
  /// its path. Without ranks, the trace also contains the step that failed, up to the
  /// failing call, and `lockstep.failure`. REQUIRES: no other thread of this process
  /// trains.
  void rescue(const std::string& error) noexcept;

  /// Returns the recorded steps as a trace.
  const tracer::Trace& trace();

  double images_per_second() const;  ///< over training steps except the first
  const std::vector<int64_t>& peak_bytes() const { return peaks_; }

  /// Returns the peak bytes of this process's devices.
  std::vector<int64_t> measure_peaks() const;
  /// Sets the peak bytes of all ranks' devices, if ranks are processes.
  void set_peaks(std::vector<int64_t> peaks) { peaks_ = std::move(peaks); }
  /// Sets the number of images skipped by all ranks, if ranks are processes.
  void set_skipped_images(int64_t count) { skipped_images_ = count; }

 private:
  tracer::Trace description() const;
  void begin_journal();
  void assemble_trace();
  void write_trace();
  void before(int64_t step);
  void after(const train::StepResult& result);
  void drain();
  void take_events();
  void continue_counting(std::vector<tracer::Event>& events);
  bool is_first_of_run() const { return results_.empty() && left_out_.empty(); }
  void forget_first_step();
  void write_until_failure(const std::string& error);
  void write_summary() const;

  const RunConfig& config_;
  train::Trainer& trainer_;
  std::string dataset_;
  parallel::Devices devices_;
  const RankPlace place_;
  int64_t first_ = 0, last_ = 0;
  int64_t failed_ = tracer::kNone;  ///< the step that failed, if it was recorded
  bool time_all_ = false;
  bool journals_ = false;
  bool watches_first_ = false;  ///< records it only in case it fails
  std::vector<tracer::Event> kept_;
  std::map<int64_t, int64_t> counters_;  ///< pid → memory counters collected so far
  std::map<int64_t, int64_t> pid_of_device_;
  std::vector<train::StepResult> results_;
  std::set<int64_t> left_out_;         ///< steps whose batch was skipped
  std::vector<tracer::Json> timings_;  ///< one per step, of the keys kTimings
  std::vector<int64_t> peaks_;
  int64_t skipped_images_ = 0;
  tracer::Trace trace_;
  bool written_ = false, finished_ = false;
};

/// Returns which steps recording begins or ends before. Ranks that do not make each
/// step together must all be between two steps then.
std::function<bool(int64_t step)> recording_boundaries(const RunConfig& config,
                                                       int64_t planned_steps);

}  // namespace lockstep::run

// A run's trace and summary.
#pragma once

#include <string>
#include <vector>

#include "run/data_sets.h"
#include "tracer/format/trace.h"

namespace lockstep::run {

/// Records the steps [first, last) of a trainer for `--trace`, and every step's times
/// for `--summary`. Prints which files it wrote.
class Recording {
 public:
  /// Hooks into the trainer. Throws UsageError when none of the `steps_planned` steps
  /// (training and evaluation) would be recorded.
  /// `devices`: those of this process. `place`: whose steps these are.
  Recording(const RunConfig& config, train::Trainer& trainer, const DataSets& data,
            const parallel::Devices& devices, const RankPlace& place,
            int64_t steps_planned);

  /// Writes what was asked for. Must be called once, also after Ctrl-C.
  void finish();

  /// After a failure: writes the trace of the steps that were finished before it, and
  /// prints where it is. REQUIRES: no other thread of this process trains.
  void rescue() noexcept;

  /// The recorded steps as a trace.
  const tracer::Trace& trace();

  double images_per_second() const;  ///< of training steps, the first left out
  const std::vector<int64_t>& peak_bytes() const { return peaks_; }

  /// Peak bytes of this process's devices so far.
  std::vector<int64_t> measure_peaks() const;
  /// Those of all ranks' devices, where a rank is a process.
  void set_peaks(std::vector<int64_t> peaks) { peaks_ = std::move(peaks); }
  /// What all ranks have skipped, where a rank is a process.
  void set_skipped_images(int64_t count) { skipped_images_ = count; }

 private:
  void choose_steps(int64_t planned);
  void assemble_trace();
  void write_trace();
  void before(int64_t step);
  void after(const train::StepResult& result);
  void drain();
  void take_events();
  void write_summary() const;

  const RunConfig& config_;
  train::Trainer& trainer_;
  std::string dataset_;
  parallel::Devices devices_;
  const RankPlace place_;
  int64_t first_ = 0, last_ = 0;
  bool time_all_ = false;
  std::vector<tracer::Event> pending_, kept_;
  std::vector<train::StepResult> results_;
  std::vector<tracer::Json> timings_;  ///< by step
  std::vector<int64_t> peaks_;
  int64_t skipped_images_ = 0;
  tracer::Trace trace_;
  bool written_ = false, finished_ = false;
};

}  // namespace lockstep::run

// A training step of a pipeline as a grid: which pass of which micro-batch each device
// ran from when to when, and why it did nothing in between.
//
// The grid lasts from the first pass's first kernel to the end of the last kernel of
// any pass. Each moment of each device in it belongs to one class:
//   1. A kernel runs: `pass`, if an action of the schedule launched it; else `other`.
//   2. Else the device's class in the division of the step (split.h): `core`, `gpu`,
//      `host`, `wake_ups` and `unknown` are the same there. Where that is unknown, as
//      in imports, the schedule says what the next pass waits for.
//   3. A wait for another device, which is `imbalance` there, is divided: as long as it
//      would be if all stages were equally fast and links free, `fill` (before the
//      device's first backward pass), `drain` (after its last forward pass) or `order`
//      (in between); beyond that, as long as it would be without delays, `uneven`; the
//      rest is `knock_on`. After its last pass a device waits for the last pass of all.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/pipeline.h"
#include "tracer/analysis/split.h"
#include "tracer/format/processor.h"

namespace lockstep::tracer {

enum class Slot : uint8_t {
  pass,
  fill,
  drain,
  order,
  uneven,
  knock_on,
  link,
  host,
  core,
  gpu,
  wake_ups,
  other,
  unknown
};
inline constexpr size_t kSlots = 13;

struct SlotWords {
  const char* name;  ///< `waiting for a core`
  const char* rule;  ///< what belongs to it, in one sentence
};
const SlotWords& words_of(Slot slot);
/// Returns the rule for devices on `processor`: it may be longer if they share GPUs.
const char* rule_of(Slot slot, Processor processor);

/// Times in ns, by class.
struct SlotTimes {
  std::array<int64_t, kSlots> times{};
  int64_t& operator[](Slot slot) { return times[static_cast<size_t>(slot)]; }
  int64_t operator[](Slot slot) const { return times[static_cast<size_t>(slot)]; }
  int64_t sum() const;
  /// Returns the time that is neither `pass` nor `other`.
  int64_t idle() const;
};

/// An action of the schedule, as it ran.
struct PipelinePass {
  plan::PipelineAction action;
  int64_t event = kNone;  ///< id of the host's event
  int64_t rank = 0;
  int64_t host_begin = 0, host_end = 0;
  int64_t begin = 0, end = 0;  ///< from its first kernel's start to the last one's end
  int64_t running = 0;         ///< ns in which one of its kernels ran
  size_t device = 0;           ///< index into Pipeline::devices
};

inline constexpr uint32_t kNoPass = UINT32_MAX;

struct PipelinePiece {
  int64_t begin = 0, end = 0;
  Slot slot = Slot::unknown;
  /// The pass that runs or, where the device does nothing, the next one; kNoPass after
  /// its last one.
  uint32_t pass = kNoPass;
};

struct PipelineDevice {
  int64_t rank = 0, device = 0;
  std::vector<int> stages;
  std::vector<uint32_t> passes;       ///< by begin
  std::vector<PipelinePiece> pieces;  ///< the whole grid, without gaps
  SlotTimes times;                    ///< `times.sum()` is the grid's length
  /// Largest live bytes of activations in the step; kNone if they were not recorded.
  int64_t activations = kNone;
};

struct PipelineStage {
  int stage = 0;
  size_t device = 0;                  ///< index into Pipeline::devices
  int64_t forward = 0, backward = 0;  ///< mean ns in which a pass's kernels ran
  /// Micro-batches whose activations it holds, from the start of the forward pass to
  /// the end of the backward pass: the count from each time on.
  std::vector<std::pair<int64_t, int>> live;
  int most_live = 0;
};

struct Pipeline {
  Processor processor = Processor::cores;
  std::string schedule;  ///< `1f1b`; "" if the trace does not say
  int micro_batches = 0;
  int rounds = 1;  ///< how often the step ran the schedule; this is the first time
  int64_t begin = 0, end = 0;
  std::vector<PipelinePass> passes;  ///< by begin
  std::vector<PipelineDevice> devices;
  std::vector<PipelineStage> stages;
  SlotTimes times;  ///< of all devices; `times.sum()` is devices x the grid's length
  /// The bubble's share if all stages were equally fast and links free. Unset if passes
  /// are missing (the file of one rank only): nothing divides the waits then, and
  /// `fill`, `drain` and `order` contain `uneven` and `knock_on`.
  std::optional<double> ideal;

  int64_t length() const { return end - begin; }
  double bubble() const;  ///< idle time as a share of devices x length
};

/// Finds the pipelines of a trace: of ours, from events with `action`; of an import,
/// from ranges named `PP:0F3`.
class PipelineReader {
 public:
  /// The trace and its lanes must outlive this.
  PipelineReader(const Trace& trace, const Lanes& lanes);
  ~PipelineReader();

  /// Returns the pipeline of a step, of one rank or joined (see join_ranks); nullptr if
  /// it has none, or if times mean nothing (devices of type null). `pieces` are the
  /// step's (Splitter::pieces); gives those the class of the grid that were unknown.
  std::shared_ptr<const Pipeline> of(const Step& step,
                                     std::vector<DevicePieces>& pieces) const;

 private:
  struct Known;
  const std::unique_ptr<const Known> known_;
};

/// Returns a table for the steps that have a pipeline; "" if none has.
std::string pipelines_text(const std::vector<const Pipeline*>& steps);
Json pipeline_json(const Pipeline& pipeline);  ///< integer nanoseconds

/// Returns (P − 1) / (V M + P − 1), the bubble's share of GPipe, 1F1B and the
/// interleaved schedule with equal stages and free links.
double bubble_formula(size_t devices, size_t stages, int micro_batches);

}  // namespace lockstep::tracer

// `trace summary`: interprets the values in a trace. Training and
// evaluation steps are never mixed; interrupted steps are left out.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/analysis/communication.h"
#include "tracer/analysis/device_times.h"
#include "tracer/analysis/pipeline.h"
#include "tracer/analysis/recomputed.h"
#include "tracer/analysis/shared_updates.h"
#include "tracer/analysis/spans.h"
#include "tracer/analysis/split.h"
#include "tracer/analysis/utilisation.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// A share of the longest path: `host`, `waiting for a core` (`the GPU`), a phase, a
/// copy's reason.
struct PathShare {
  std::string what;
  int64_t nanoseconds = 0;
};

/// Returns true if a share of the path is the kernels' own work.
bool is_computing(std::string_view what);
/// … and if N devices divide that work among themselves, unlike the optimizer's work.
bool is_shared_computing(std::string_view what);

inline constexpr const char* kWakeUps = "wake-ups";

struct StepSummary {
  int64_t step = 0, batch = 0;  ///< for all ranks together
  bool own_pace = false;  ///< ranks do not wait for each other: see Step::own_pace
  bool warm_up = false;   ///< in no mean of times: see mark_warm_up
  int64_t length = 0;     ///< ns, to the later of its last host and last device event
  int64_t start = 0;      ///< ns, of the host's part
  int64_t overhang = 0;   ///< ns from the host's end to the last device event's
  std::vector<NamedPhase> phases;        ///< in the order in which they began
  std::map<int64_t, int64_t> computing;  ///< device → ns in which a kernel ran
  int64_t queued = 0;                    ///< ns in which kernels waited, total
  int64_t kernel_wall = 0;    ///< ns from the start to the end of each kernel, total
  int64_t kernel_cpu = 0;     ///< ns of CPU time of kernels; on GPUs, of GPU time
  int64_t computing_cpu = 0;  ///< … by those of forward, loss and backward; on the
                              ///< emulated clock, how long they take there
  std::map<int64_t, int64_t> rank_lengths;   ///< rank → ns of that rank's step
  std::vector<CollectiveTime> collectives;   ///< DDP's, by rank
  int64_t path = 0;                          ///< ns, length of the longest path
  std::vector<PathShare> path_shares;        ///< its components, largest first
  Split split;                               ///< devices x step, by class
  std::shared_ptr<const Pipeline> pipeline;  ///< nullptr if the step has none
};

/// Averages of one rank over all steps: its step time and all its collectives.
struct MeanRank {
  int64_t rank = 0, length = 0;
  CollectiveTime together;  ///< the sums over the collectives of a step
};

struct Port {
  int64_t in = 0, out = 0;  ///< bytes
};

/// All steps of one kind.
struct StepGroup {
  std::vector<StepSummary> steps;
  std::map<std::string, int64_t> bytes_by_why;  ///< over all steps
  Utilisation utilisation;
  std::map<int64_t, Port> ports;  ///< device (kHost: the host) → bytes, over all steps

  /// Returns the steps but a warm-up: those of which times are the means.
  std::vector<const StepSummary*> warm() const;
  bool at_own_pace() const { return !steps.empty() && steps[0].own_pace; }
  int64_t mean_length() const;
  int64_t mean_period() const;  ///< from one step's start to the next one's
  int64_t mean_overhang() const;
  /// Return the mean of `phases` and `path_shares` over all steps.
  std::vector<NamedPhase> mean_phases() const;
  std::vector<PathShare> mean_path() const;
  /// Returns `mean_path` and, as kWakeUps, what a step takes beyond it, while threads
  /// wake up: together, exactly `mean_length`. Empty if the path is unknown.
  std::vector<PathShare> mean_parts() const;
  Split mean_split() const;
  std::vector<const Pipeline*> pipelines() const;  ///< of the steps that have one
  /// Returns the average number of devices on which a kernel runs, of any phase.
  double devices_computing() const;
  std::vector<MeanCollective> mean_collectives() const;
  std::vector<MeanRank> mean_ranks() const;  ///< sorted by rank
};

struct MemoryPeak {
  int64_t total = 0;
  std::map<std::string, int64_t> categories;  ///< at the time of the peak
};

struct KernelTime {
  std::string impl;                      ///< name of the library or of the operation
  int64_t count = 0, wall = 0, cpu = 0;  ///< ns, total
};

struct Summary {
  std::string mode, arch, clock;
  /// Assumptions behind its times: of the emulated clock, of emulated devices.
  std::string assumed;
  std::vector<std::string> assumed_in_short;  ///< lines, what is not known first
  std::string emulated_devices;  ///< the kind of device whose times they take; or ""
  bool as_measured = false;      ///< … if those are the recorded durations themselves
  int64_t devices = 0;           ///< workers and parameter servers
  int64_t servers = 0;           ///< parameter servers, on the last devices
  bool null_devices = false;     ///< devices of type null, which compute nothing
  /// Whether times say anything: not those of null devices, unless they are emulated.
  bool timed() const { return !null_devices || clock == values::emulated; }
  Processor processor = Processor::cores;  ///< what runs the kernels
  bool imported = false;                   ///< dependencies between events are unknown
  std::string failure;                     ///< the error that ended the run, if one did
  std::string cut;                         ///< what the recording lacks
  std::string left_out;                    ///< … and what was not taken from it
  int64_t rank = kNone;  ///< rank of the file, if it holds one rank of several
  int64_t world_size = 1;
  StepGroup train, eval;
  Staleness staleness;                   ///< of a model that workers share
  std::map<int64_t, MemoryPeak> memory;  ///< by device
  std::vector<KernelTime> kernels;       ///< longest first
  Recomputed recomputed;
  std::vector<DeviceTimes> recording;  ///< of an import, by rank and device
};

/// Never throws because of missing arguments. A trace whose events wait for
/// each other in a cycle has no longest path, and its `path` stays 0; the same
/// applies to an imported trace, which does not contain the dependencies.
Summary summarize(const Trace& trace);

/// Returns what an import left out of the profiler's file, as one line: "left out: 3
/// events of mtia_ccp_events". "" if `lockstep.imported` names nothing.
std::string left_out_text(const Json& lockstep);

/// Applies to every run on devices of type null.
inline constexpr const char* kNullSentence =
    "device type null computes nothing: losses and times are meaningless, byte counts "
    "are exact";

/// Returns one sentence, computed from the trace, about what limits these devices.
/// It may state that nothing does, or that the measurement is inconclusive: if
/// something else used the cores, or on null devices. `single` is the same program
/// on one device, on the same clock; if given, the speedup is added.
std::string limiting_sentence(const Summary& summary, const Summary* single = nullptr);
/// Returns the same without what would help several devices, which `help_sentence` says
/// of each step (advice.h).
std::string limiting_cause(const Summary& summary);

/// Returns how fast the devices are against one, in one sentence. `single` is used if
/// it trained the same architecture with the same batch per step on one device, on the
/// same clock. Otherwise one device's step is estimated from the time of our kernels.
/// "" for one device, where times mean nothing, and for GPUs without `single`.
std::string speedup_sentence(const Summary& summary, const Summary* single = nullptr);

/// Returns true if `single` is a trace of one device that trained the same network with
/// the same batch on the same clock.
bool does_the_same_work(const Summary& summary, const Summary& single);

/// Returns, for example, "The first step took 3.2 s, 2.4 times the mean of the other 9:
/// a warm-up, which is in no mean.", or "" if no step is one.
std::string warm_up_sentence(const StepGroup& group);

/// Returns the time of all kernels divided by their CPU time; 1 if that is unknown.
double wall_over_cpu(const StepGroup& group);

/// Returns whether kernels took so much longer than their CPU time that other programs
/// must have used the cores. Never on the emulated clock, or on GPUs.
bool is_disturbed(const Summary& summary);

/// Returns a text of 100 columns. `single`: the same work on one device, if it is
/// known.
std::string summary_text(const Summary& summary, const Summary* single = nullptr);
Json summary_json(const Summary& summary);  ///< times in seconds

/// Returns one step: {"step", "seconds", "phases", …} as shown by `--summary`.
Json step_json(const StepSummary& step);

}  // namespace lockstep::tracer

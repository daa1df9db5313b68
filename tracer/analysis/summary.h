// `trace summary`: what the numbers of a trace mean. Training and evaluation steps are
// never mixed; interrupted steps are left out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tracer/analysis/communication.h"
#include "tracer/format/trace.h"

namespace lockstep::tracer {

/// What a phase cost in one step. Phases may overlap: costs are not meant to add up.
struct PhaseCost {
  int64_t host = 0;    ///< ns that host threads spent in it (overlaps count once)
  int64_t device = 0;  ///< ns from its first kernel or copy to the end of its last
  std::map<int64_t, int64_t> busy;  ///< device → ns in which it ran some of it
  bool on_device() const { return !busy.empty(); }
  /// The one number to show: `device` where there is device work, else `host`.
  int64_t cost() const { return on_device() ? device : host; }
};

struct NamedPhase {
  std::string name;
  PhaseCost cost;
};

/// A share of the longest path: `host`, `waiting for a core`, a phase, a copy's reason.
struct PathShare {
  std::string what;
  int64_t nanoseconds = 0;
};

struct StepSummary {
  int64_t step = 0, batch = 0;  ///< of all ranks together
  int64_t length = 0;  ///< ns, to the later of its last host and last device event
  std::vector<NamedPhase> phases;        ///< in the order in which they began
  std::map<int64_t, int64_t> computing;  ///< device → ns in which a kernel ran
  int64_t queued = 0;                    ///< ns that kernels waited for a core, summed
  int64_t kernel_wall = 0;  ///< ns from kernels' starts to their ends, summed
  int64_t kernel_cpu = 0;   ///< ns of CPU time that they used
  std::map<int64_t, int64_t> rank_lengths;  ///< rank → ns of its own step
  std::vector<CollectiveTime> collectives;  ///< DDP's, by rank
  int64_t path = 0;                         ///< ns, length of the longest path
  std::vector<PathShare> path_shares;       ///< what it is made of, largest first
};

/// One rank: the mean over steps of its step's time and of all its collectives.
struct MeanRank {
  int64_t rank = 0, length = 0;
  CollectiveTime together;  ///< the sums over a step's collectives
};

struct Port {
  int64_t in = 0, out = 0;  ///< bytes
};

/// All steps of one kind.
struct StepGroup {
  std::vector<StepSummary> steps;
  std::map<std::string, int64_t> bytes_by_why;  ///< over all steps
  std::map<int64_t, Port> ports;  ///< device (kHost: the host) → bytes, over all steps

  int64_t mean_length() const;
  /// The mean over all steps of what `phases` and `path_shares` hold.
  std::vector<NamedPhase> mean_phases() const;
  std::vector<PathShare> mean_path() const;
  /// How many devices compute at a time, on average.
  double devices_computing() const;
  std::vector<MeanCollective> mean_collectives() const;
  std::vector<MeanRank> mean_ranks() const;  ///< in order of rank
};

struct MemoryPeak {
  int64_t total = 0;
  std::map<std::string, int64_t> categories;  ///< at the moment of the peak
};

struct KernelTime {
  std::string impl;                      ///< the library's name, or the operation's
  int64_t count = 0, wall = 0, cpu = 0;  ///< ns, summed
};

struct Summary {
  std::string mode, arch, clock;
  std::string assumed;       ///< on the emulated clock: what its times rest on
  bool as_measured = false;  ///< … when that is the recorded durations themselves
  int64_t devices = 0;
  bool null_devices = false;  ///< they computed nothing
  bool imported = false;      ///< nobody knows what waited for what
  int64_t rank = kNone;       ///< whose file it is, if one rank's of several
  int64_t world_size = 1;
  StepGroup train, eval;
  std::map<int64_t, MemoryPeak> memory;  ///< by device
  std::vector<KernelTime> kernels;       ///< longest first
};

/// Never throws on account of missing arguments; a trace whose events wait for each
/// other in a circle has no longest path, and its `path` stays 0; so does that of an
/// imported one, which does not say what waits for what.
Summary summarize(const Trace& trace);

/// What holds for every run on devices of type null.
inline constexpr const char* kNullSentence =
    "device type null computes nothing: losses and times mean nothing, bytes are exact";

/// One plain sentence, computed from the trace: what limits these devices. It may say
/// that nothing does, or that the measurement cannot tell: where something else used
/// the cores, or on null devices. `single` is the same program on one device, on the
/// same clock, and adds what was gained.
std::string limiting_sentence(const Summary& summary, const Summary* single = nullptr);

std::string summary_text(const Summary& summary);  ///< for 100 columns
Json summary_json(const Summary& summary);         ///< times in seconds

/// One step: {"step", "seconds", "phases", "phases_host", …} as `--summary` shows it.
Json step_json(const StepSummary& step);

}  // namespace lockstep::tracer

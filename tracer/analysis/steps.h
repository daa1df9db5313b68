// The training and evaluation steps of a trace, each with what happened in it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tracer/format/lanes.h"

namespace lockstep::tracer {

/// One `step` phase event and its facts. Pointers go into the trace.
struct Step {
  const Event* event = nullptr;
  int64_t number = 0;
  int64_t rank = 0;          ///< kNone: the step of all ranks together
  bool train = true;         ///< kind `train`; else `eval`
  bool interrupted = false;  ///< Ctrl-C: the step is incomplete, and says so
  int64_t batch = 0;
  int64_t input_bytes = 0, label_bytes = 0, output_bytes = 0;
  std::vector<int64_t> chunks;
  bool input_on_device = false;  ///< images were moved to device 0 before `scatter`

  std::vector<const Event*> phases;  ///< the other phase events with this step number
  std::vector<const Event*> tasks;   ///< kernels, copies and collectives
  int64_t last_end = 0;              ///< of its last host or device event; no loader's
  std::map<int64_t, int64_t> rank_lengths;  ///< by rank, once ranks are joined

  bool has_phase(const char* name) const;
  int64_t length() const { return last_end - event->ts; }  ///< the step's `seconds`
};

/// Steps of the same number on several ranks as one: it begins with the first rank and
/// ends with the last, and its batch is what all ranks together trained on. A trace of
/// one rank comes back as it is.
std::vector<Step> join_ranks(std::vector<Step> steps);

/// In order of time. Events of the same number (and rank) belong to the step; where
/// several `step` events share number and rank, only the first is returned.
std::vector<Step> find_steps(const Trace& trace, const Lanes& lanes);
std::vector<Step> find_steps(const Trace& trace);

}  // namespace lockstep::tracer

// The two halves of a script: what the host's calls show, and what the devices do at
// the same time. `script.cpp` puts them together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gui/model/script.h"

namespace lockstep::gui {

/// A kernel or copy of one step, on any rank.
struct StepTask {
  int64_t begin = 0, end = 0;
  int device = kHostDevice;
  uint32_t phase = 0;  ///< index into Model::phases
  bool is_kernel = false;
  const Copy* copy = nullptr;  ///< nullptr for a kernel
};

/// Returns the tasks of a step that the shots in time order need, by start.
std::vector<StepTask> tasks_of(const Model& model, size_t step);

/// Shows a phase of several devices in time order: `forward`, `parallel_apply` or
/// `backward`, with the reduction that overlaps it. Appends nothing if its kernels run
/// on one device only.
void add_parallel_shots(const Model& model, const std::vector<StepTask>& tasks,
                        uint32_t phase, std::vector<Shot>& shots);

/// Shows the program of one rank from place `first` to `last`, and after each phase of
/// several devices, what they do at once. `tasks` is empty if times have no meaning.
void add_program_shots(const Model& model, const std::vector<StepTask>& tasks,
                       uint32_t first, uint32_t last, std::vector<Shot>& shots);

/// Shows a step in time order alone, and shortens the time in which nothing runs.
void add_time_shots(const Model& model, const Step& step, std::vector<Shot>& shots);

inline constexpr double kLongestInTime = 22;  ///< s: all shots in time order of a rank

}  // namespace lockstep::gui

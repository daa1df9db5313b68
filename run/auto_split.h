// `--split auto`: chooses where a model is cut into stages, from measured times.
#pragma once

#include <string>
#include <vector>

#include "engine/parallel/part_profile.h"
#include "engine/plan/best_split.h"

namespace lockstep::run {

inline constexpr const char* kAutoSplit = "auto";  ///< the default
inline bool is_auto_split(const std::string& split) {
  return split.empty() || split == kAutoSplit;
}

/// Where the times of the parts come from.
enum class TimesFrom : uint8_t { this_run, recorded_step };

/// A way to cut a model, and why.
struct AutoSplit {
  std::vector<parallel::PartProfile> parts;
  plan::Split split;  ///< its times are in ns

  /// Returns the names that --split takes: `layer2,layer3.1`. A stage that begins with
  /// the first block of a layer is named after the layer, if no other begins in it.
  std::string flag() const;
  /// Returns what is printed: the stages with their times and bytes, and the flag.
  std::string report(TimesFrom times) const;
};

/// Returns the split with the least time of the slowest stage, then the fewest bytes at
/// its cuts. Throws UsageError if there are fewer parts than stages.
AutoSplit choose_split(std::vector<parallel::PartProfile> parts, int stages);

}  // namespace lockstep::run

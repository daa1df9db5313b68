// What keeps devices from computing, and what would help.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/analysis/summary.h"

namespace lockstep::tracer {

enum class Remedy : uint8_t {
  none,
  undivided,    ///< faster links, or devices that come last
  ddp,          ///< instead of DataParallel
  no_replicas,  ///< DDP, because the host makes DataParallel's replicas
  links,
  bucket_views,
  core,
  gpu,
  shared_gpu,
  micro_batches,
  another_split,
  even_work,
  unlocked,
  larger_batch,
  loader
};

/// The largest part of the devices' time that is not computing, as far as one remedy
/// helps against it.
struct Cause {
  Remedy remedy = Remedy::none;
  std::vector<Spent> classes;  ///< largest first, without negligible ones
  double of_time = 0;          ///< of the devices' time (split.h), or the workers'
  double of_largest = 0;       ///< … that of the first class
  double of_path = 0;          ///< of the longest path of the step
};

/// Returns the cause for a step or the mean of several, or std::nullopt if the split is
/// unknown or nothing but computing was recorded.
std::optional<Cause> main_cause(const Split& split, const std::vector<PathShare>& path,
                                const std::vector<const Pipeline*>& pipelines,
                                const Summary& summary);

/// Returns what helps, as a sentence with a space before it, or "".
std::string_view words_of(Remedy remedy);

/// Returns, for example, "What would help: reduce and replicate take 24 % of the
/// devices' time. DistributedDataParallel sends no weights … Without them, this step
/// would be at most 1.24x as fast.". The bound is named only if the longest path
/// contains them: what leaves it shortens the step by no more than its share. Of a
/// disturbed measurement no bound is named. "" for one device, and where the path is
/// unknown or its times mean nothing: null devices, imports, ranks at their own pace.
std::string help_sentence(const StepSummary& step, const Summary& summary);

}  // namespace lockstep::tracer

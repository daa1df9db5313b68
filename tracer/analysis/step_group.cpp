// The means over all steps of one kind.
#include <algorithm>

#include "tracer/analysis/summary_paths.h"
#include "tracer/format/times.h"

namespace lockstep::tracer {

void sort_shares(std::vector<PathShare>& shares) {
  std::stable_sort(shares.begin(), shares.end(),
                   [](const PathShare& a, const PathShare& b) {
                     return a.nanoseconds > b.nanoseconds;
                   });
}

std::vector<const StepSummary*> StepGroup::warm() const {
  std::vector<const StepSummary*> warm;
  for (const StepSummary& step : steps) {
    if (!step.warm_up) warm.push_back(&step);
  }
  return warm;
}

int64_t StepGroup::mean_length() const {
  int64_t total = 0;
  for (const auto* step : warm()) total = add_within_range(total, step->length);
  return steps.empty() ? 0 : total / static_cast<int64_t>(warm().size());
}

int64_t StepGroup::mean_period() const {
  const auto periods = static_cast<int64_t>(steps.size()) - 1;
  return periods < 1 ? 0 : (steps.back().start - steps.front().start) / periods;
}

int64_t StepGroup::mean_overhang() const {
  int64_t total = 0;
  for (const auto* step : warm()) total = add_within_range(total, step->overhang);
  return steps.empty() ? 0 : total / static_cast<int64_t>(warm().size());
}

std::vector<NamedPhase> StepGroup::mean_phases() const {
  std::vector<const std::vector<NamedPhase>*> all;
  for (const auto* step : warm()) all.push_back(&step->phases);
  return tracer::mean_phases(all);
}

std::vector<PathShare> StepGroup::mean_path() const {
  std::vector<PathShare> mean;
  const auto count = static_cast<int64_t>(warm().size());
  for (const auto* step : warm()) {
    for (const auto& [what, nanoseconds] : step->path_shares) {
      auto sum = std::find_if(mean.begin(), mean.end(),
                              [&](const PathShare& s) { return s.what == what; });
      if (sum == mean.end()) sum = mean.insert(sum, {what, 0});
      sum->nanoseconds += nanoseconds / count;
    }
  }
  sort_shares(mean);
  return mean;
}

std::vector<PathShare> StepGroup::mean_parts() const {
  std::vector<PathShare> parts = mean_path();
  if (parts.empty()) return parts;
  int64_t rest = mean_length();
  for (const PathShare& share : parts) rest -= share.nanoseconds;
  parts.push_back({kWakeUps, rest});
  return parts;
}

Split StepGroup::mean_split() const {
  std::vector<const Split*> splits;
  for (const auto* step : warm()) splits.push_back(&step->split);
  return tracer::mean_split(splits);
}

std::vector<const Pipeline*> StepGroup::pipelines() const {
  std::vector<const Pipeline*> found;
  for (const auto* step : warm()) {
    if (step->pipeline != nullptr) found.push_back(step->pipeline.get());
  }
  return found;
}

std::vector<MeanCollective> StepGroup::mean_collectives() const {
  std::vector<const std::vector<CollectiveTime>*> all;
  for (const auto* step : warm()) all.push_back(&step->collectives);
  return tracer::mean_collectives(all);
}

std::vector<MeanRank> StepGroup::mean_ranks() const {
  std::map<int64_t, MeanRank> ranks;
  const auto count = static_cast<int64_t>(warm().size());
  for (const auto* step : warm()) {
    for (const auto& [rank, length] : step->rank_lengths) {
      ranks[rank].length = add_within_range(ranks[rank].length, length / count);
    }
    for (const CollectiveTime& time : step->collectives) {
      CollectiveTime& sum = ranks[time.rank].together;
      const bool known = sum.bytes != kNone && time.bytes != kNone;
      sum.bytes = known ? add_within_range(sum.bytes, time.bytes / count) : kNone;
      sum.unseen = sum.unseen || time.unseen;
      for (const auto field : CollectiveTime::kTimes) {
        sum.*field = add_within_range(sum.*field, time.*field / count);
      }
    }
  }
  std::vector<MeanRank> mean;
  for (auto& [rank, of_rank] : ranks) {
    of_rank.rank = rank;
    mean.push_back(of_rank);
  }
  return mean;
}

double StepGroup::devices_computing() const {
  double computing = 0, length = 0;
  for (const auto* step : warm()) {
    length += static_cast<double>(step->length);
    for (const auto& [device, busy] : step->computing) {
      computing += static_cast<double>(busy);
    }
  }
  return length > 0 ? computing / length : 0;
}

}  // namespace lockstep::tracer

// The host events that are actions of a schedule, and which of them an op belongs to.
#include <algorithm>

#include "tracer/analysis/pipeline_parts.h"

namespace lockstep::tracer::grid {
namespace {

using plan::PipelineAction;

constexpr std::string_view kRange = "PP:";  ///< of torch.distributed.pipelining
/// Larger numbers are not of a pipeline.
constexpr int kMostStages = 4096, kMostMicroBatches = 1 << 16;

bool is_plausible(const PipelineAction& action) {
  return action.stage >= 0 && action.stage < kMostStages && action.micro_batch >= 0 &&
         action.micro_batch < kMostMicroBatches;
}

std::optional<PipelineAction> action_of(const Event& event, bool imported) {
  if (event.ph != 'X' || is_task(event)) return std::nullopt;
  std::string_view text;
  if (imported) {
    text = event.name.view();
    if (!text.starts_with(kRange)) return std::nullopt;
    text.remove_prefix(kRange.size());
  } else {
    if (!event.is(categories::phase) || !event.args.may_hold(keys::action)) {
      return std::nullopt;
    }
    text = text_arg(event.args, keys::action);
  }
  const auto action = plan::parse_action(text);
  return action && is_plausible(*action) ? action : std::nullopt;
}

}  // namespace

Ranges::Ranges(const Trace& trace, const Lanes& lanes) : lanes_(lanes) {
  const bool imported = trace.lockstep.contains(top::imported);
  for (const Event& event : trace.events) {
    const auto action = action_of(event, imported);
    if (!action) continue;
    all_.push_back({&event, *action});
    by_lane_[lane_of(event)].push_back(all_.size() - 1);
    by_rank_[lanes.of(event).rank].push_back(all_.size() - 1);
  }
  if (!all_.empty()) hosts_ = split::host_lanes(trace);
}

uint32_t Ranges::around(const Event& op, const Index& index) const {
  const Event* event = &op;
  for (int hops = 0; hops < 8 && event != nullptr; ++hops) {
    const auto* own = by_lane_.find(lane_of(*event));
    if (own != nullptr) return last_at(own, event->ts);
    event = caller(*event, index);
  }
  const auto rank = by_rank_.find(lanes_.of(op).rank);
  return last_at(rank == by_rank_.end() ? nullptr : &rank->second, op.ts);
}

/// Returns the last of these ranges that began by `ts`, if it lasts.
uint32_t Ranges::last_at(const std::vector<size_t>* ranges, int64_t ts) const {
  if (ranges == nullptr) return kNoPass;
  const auto after =
      std::upper_bound(ranges->begin(), ranges->end(), ts,
                       [&](int64_t t, size_t i) { return t < all_[i].event->ts; });
  if (after == ranges->begin()) return kNoPass;
  const size_t last = *(after - 1);
  return ts < all_[last].event->end() ? static_cast<uint32_t>(last) : kNoPass;
}

/// Returns the event of another thread that caused what this thread does.
const Event* Ranges::caller(const Event& event, const Index& index) const {
  if (event.parent != kNone) return index.find(event.parent);
  const split::HostLane* lane = hosts_.find(lane_of(event));
  if (lane == nullptr) return nullptr;
  const auto after =
      std::upper_bound(lane->outers.begin(), lane->outers.end(), event.ts,
                       [](int64_t ts, const Event* outer) { return ts < outer->ts; });
  if (after == lane->outers.begin()) return nullptr;
  const Event* outer = *(after - 1);
  return outer->parent == kNone ? nullptr : index.find(outer->parent);
}

}  // namespace lockstep::tracer::grid

#include "gui/model/ghost.h"

#include <algorithm>

namespace lockstep::gui {

namespace {

constexpr int64_t kParts = 2048;  ///< shorter gaps are not seen

std::vector<std::pair<int64_t, int64_t>> busy_times(const Model& model,
                                                    const Lane& lane,
                                                    const Step& step) {
  const int64_t least = std::max<int64_t>(1, (step.end - step.begin) / kParts);
  std::vector<std::pair<int64_t, int64_t>> busy;
  for (const uint32_t index : lane.events) {
    const Event& event = model.events[index];
    const bool outside = event.ts >= step.end || event.end() <= step.begin;
    if (outside || event.end() == event.ts) continue;
    if (lane.is_host() && event.what() != Kind::op) continue;  // phases cover all
    const int64_t begin = std::max(event.ts, step.begin) - step.begin;
    const int64_t end = std::min(event.end(), step.end) - step.begin;
    if (!busy.empty() && begin - busy.back().second < least) {
      busy.back().second = std::max(busy.back().second, end);
    } else {
      busy.emplace_back(begin, end);
    }
  }
  return busy;
}

/// Returns the recorded lane that does what `lane` does, or nullptr.
const Lane* counterpart(const Model& recorded, const Model& shown, const Lane& lane) {
  const bool same = recorded.devices.size() == shown.devices.size();
  for (const Lane& other : recorded.lanes) {
    if (other.is_host() != lane.is_host()) continue;
    if (lane.is_host()) {
      if (other.thread == lane.thread && (!same || other.rank == lane.rank))
        return &other;
    } else if (other.stream == lane.stream && (!same || other.device == lane.device)) {
      return &other;
    }
  }
  return nullptr;
}

}  // namespace

Ghost ghost_of(const Model& recorded, size_t recorded_step, const Model& shown) {
  Ghost ghost;
  if (recorded_step >= recorded.steps.size()) return ghost;
  const Step& step = recorded.steps[recorded_step];
  ghost.length = step.end - step.begin;
  for (const Lane& lane : shown.lanes) {
    const Lane* own = counterpart(recorded, shown, lane);
    ghost.lanes.emplace_back();
    if (own != nullptr) ghost.lanes.back() = busy_times(recorded, *own, step);
  }
  return ghost;
}

}  // namespace lockstep::gui

#include "engine/backends/cuda/activity.h"

#include <algorithm>
#include <utility>

namespace lockstep::cuda {

void ClockMap::add(const std::vector<Sample>& samples) {
  moments_.push_back(*std::min_element(
      samples.begin(), samples.end(),
      [](const Sample& a, const Sample& b) { return a.width() < b.width(); }));
}

int64_t ClockMap::ours(int64_t theirs) const {
  const auto after = std::upper_bound(
      moments_.begin(), moments_.end(), theirs,
      [](int64_t time, const Sample& sample) { return time < sample.theirs; });
  if (after == moments_.begin()) return after->ours() - (after->theirs - theirs);
  const Sample& left = after[-1];
  const int64_t since = theirs - left.theirs;
  if (after == moments_.end()) return left.ours() + since;
  const double rate = static_cast<double>(after->ours() - left.ours()) /
                      static_cast<double>(after->theirs - left.theirs);
  return left.ours() + static_cast<int64_t>(static_cast<double>(since) * rate);
}

void ActivityRecords::link(uint32_t call, int64_t event) { newer_.links[call] = event; }

void ActivityRecords::work(uint32_t call, int64_t begin, int64_t end,
                           const char* kernel) {
  newer_.works.push_back({call, begin, end, kernel});
}

const int64_t* ActivityRecords::event_of(uint32_t call) const {
  for (const Half* half : {&newer_, &older_}) {
    const auto found = half->links.find(call);
    if (found != half->links.end()) return &found->second;
  }
  return nullptr;
}

std::vector<tracer::DeviceActivity> ActivityRecords::take() {
  std::vector<tracer::DeviceActivity> known;
  std::set<int64_t> timeless;
  Half waiting;
  for (Half* half : {&older_, &newer_}) {
    for (tracer::DeviceActivity& work : half->works) {
      const int64_t* event = event_of(static_cast<uint32_t>(work.event));
      if (event) {
        if (work.end <= 0) timeless.insert(*event);
        known.push_back({*event, work.begin, work.end, work.kernel});
      } else if (half == &newer_) {
        waiting.works.push_back(work);
      }
    }
  }
  std::erase_if(known, [&](const auto& work) { return timeless.contains(work.event); });
  waiting.links = std::move(newer_.links);
  older_ = std::move(waiting);
  newer_ = {};
  return known;
}

}  // namespace lockstep::cuda

#include "gui/model/memory_series.h"

#include <algorithm>

#include "gui/model/memory.h"

namespace lockstep::gui {

namespace {

constexpr size_t kPointsPerMemory = 16;
constexpr uint32_t kPeakFanOut = 16;  ///< of the pyramid of the largest points
constexpr auto kItself = [](int64_t time) { return time; };

}  // namespace

void MemorySeries::add(int64_t when, const Memory& memory) {
  if (times_.empty() || when > times_.back()) {
    if (!times_.empty()) store();
    times_.push_back(when);
  }
  newest_ = memory;
}

void MemorySeries::store() {
  if (totals_.size() % kPointsPerMemory == 0) sums_.push_back(newest_);
  for (size_t i = 0; i < newest_.bytes.size(); ++i) {
    const int64_t bytes = newest_.bytes[i] - stored_.bytes[i];
    if (bytes != 0) deltas_.push_back({bytes, i});
  }
  deltas_of_.push_back(static_cast<uint32_t>(deltas_.size()));
  totals_.push_back(newest_.total());
  stored_ = newest_;
}

void MemorySeries::close() {
  if (times_.empty()) return;
  store();
  // The first value holds from the beginning, at INT64_MIN, and has no part.
  index_.build(later_times(), kItself);
  for (size_t below = size(); below > 1; below = largest_of_.back().size()) {
    std::vector<Largest> level;
    for (uint32_t from = 0; from < below; from += kPeakFanOut) {
      Largest best = largest_in(largest_of_.size(), from);
      for (uint32_t i = from + 1; i < std::min<size_t>(from + kPeakFanOut, below);
           ++i) {
        const Largest next = largest_in(largest_of_.size(), i);
        if (next.total > best.total) best = next;
      }
      level.push_back(best);
    }
    largest_of_.push_back(std::move(level));
  }
  find_ends();
}

MemorySeries::Largest MemorySeries::largest_in(size_t level, uint32_t node) const {
  return level == 0 ? Largest{totals_[node], node} : largest_of_[level - 1][node];
}

Memory MemorySeries::at(size_t point) const {
  const size_t sum = point / kPointsPerMemory;
  Memory memory = sums_[sum];
  for (size_t i = deltas_of_[sum * kPointsPerMemory]; i < deltas_of_[point]; ++i) {
    memory.bytes[deltas_[i].category] += deltas_[i].bytes;
  }
  return memory;
}

size_t MemorySeries::point_at(int64_t ts) const {
  return index_.until(ts, later_times(), kItself);
}

void MemorySeries::find_ends() {
  ends_.resize(size());
  for (size_t begin = 0; begin < size(); begin += kPeakFanOut) {
    const size_t end = std::min<size_t>(begin + kPeakFanOut, size());
    size_t best = begin;
    for (size_t i = begin; i < end; ++i) {
      if (totals_[i] > totals_[best]) best = i;
      ends_[i].until = static_cast<uint8_t>(best - begin) & 15;
    }
    best = end - 1;
    for (size_t i = end; i-- > begin;) {
      if (totals_[i] >= totals_[best]) best = i;
      ends_[i].from = static_cast<uint8_t>(best - begin) & 15;
    }
  }
}

size_t MemorySeries::largest(size_t first, size_t last) const {
  auto best = static_cast<uint32_t>(first);
  if (first / kPeakFanOut == last / kPeakFanOut) {
    for (size_t i = first + 1; i <= last; ++i) {
      if (totals_[i] > totals_[best]) best = static_cast<uint32_t>(i);
    }
    return best;
  }
  const auto before = static_cast<uint32_t>(first / kPeakFanOut);
  const auto after = static_cast<uint32_t>(last / kPeakFanOut);
  best = before * kPeakFanOut + ends_[first].from;
  Largest found{totals_[best], best};
  const auto offer = [&](const Largest& node) {
    const bool sooner = node.total == found.total && node.point < found.point;
    if (node.total > found.total || sooner) found = node;
  };
  const uint32_t at_end = after * kPeakFanOut + ends_[last].until;
  offer({totals_[at_end], at_end});
  uint32_t from = before + 1, to = after;  // nodes of the level
  for (size_t level = 1; from < to; ++level) {
    const bool top = level == largest_of_.size();
    while (from < to && (top || from % kPeakFanOut != 0)) {
      offer(largest_in(level, from++));
    }
    while (from < to && to % kPeakFanOut != 0) offer(largest_in(level, --to));
    from /= kPeakFanOut, to /= kPeakFanOut;
  }
  return found.point;
}

std::vector<size_t> MemorySeries::largest_between(
    std::span<const int64_t> times) const {
  std::vector<size_t> places = index_.until_each(times, later_times(), kItself);
  for (const size_t place : places) prefetch_largest(place);
  for (size_t i = 0; i + 1 < times.size(); ++i) {
    const int64_t end = std::max(times[i + 1], times[i] + 1);
    size_t last = end == times[i + 1] ? places[i + 1] : point_at(end);
    if (last > places[i] && when(last) == end) --last;
    places[i] = largest(places[i], last);
  }
  places.pop_back();
  return places;
}

void MemorySeries::prefetch_largest(size_t point) const {
  const size_t node = point / kPeakFanOut;
  __builtin_prefetch(&times_[point]);
  __builtin_prefetch(&ends_[point]);
  prefetch_lines(&totals_[node * kPeakFanOut]);
  if (!largest_of_.empty()) prefetch_lines(&largest_of_[0][node]);
}

std::vector<Memory> MemorySeries::at_each(std::span<const size_t> points) const {
  for (const size_t point : points) {
    const size_t sum = point / kPointsPerMemory;
    prefetch_lines(&sums_[sum]);
    __builtin_prefetch(&deltas_of_[sum * kPointsPerMemory]);
  }
  for (const size_t point : points) {
    const size_t delta = deltas_of_[point / kPointsPerMemory * kPointsPerMemory];
    if (delta < deltas_.size()) prefetch_lines(&deltas_[delta]);
  }
  std::vector<Memory> memory;
  memory.reserve(points.size());
  for (const size_t point : points) memory.push_back(at(point));
  return memory;
}

MemorySeries memory_series(const Model& model, const Device& device, bool as_queued) {
  MemorySeries series;
  if (as_queued) {
    for (const Device::Counter& counter : device.memory) {
      series.add(series.empty() ? INT64_MIN : counter.ts,
                 counted_memory(model, counter));
    }
  } else if (knows_memory_order(device)) {
    Memory memory = device.first_memory;
    series.add(INT64_MIN, memory);
    for (const MemoryChange& change : device.changes) {
      memory.bytes[change.category] += change.bytes;
      Memory live = memory;
      for (int64_t& bytes : live.bytes) bytes = std::max<int64_t>(0, bytes);
      series.add(change.when, live);
    }
  }
  series.close();
  return series;
}

}  // namespace lockstep::gui

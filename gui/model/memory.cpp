#include "gui/model/memory.h"

#include <algorithm>

#include "gui/model/raw_model.h"
#include "tracer/format/scanner.h"

namespace lockstep::gui {

namespace {

constexpr size_t kMemoryKinds = std::size(tracer::memory_categories);
constexpr size_t kBetweenSums = 64;  ///< changes between two sums

/// Reads a counter's arguments from the trace's text.
Memory counter_at(std::string_view text, uint64_t offset) {
  Memory memory;
  if (offset >= text.size()) return memory;
  tracer::BasicScanner<tracer::Grammar::tolerant> scan(text.substr(offset));
  for (bool more = scan.enter('{'); more; more = scan.more('}')) {
    if (scan.key() != "args" || scan.peek() != '{') {
      scan.value();
      continue;
    }
    for (bool inner = scan.enter('{'); inner; inner = scan.more('}')) {
      const std::string_view key = scan.key();
      const int64_t bytes = scan.integer(0);
      for (size_t i = 0; i < kMemoryKinds; ++i) {
        if (key != tracer::memory_categories[i]) continue;
        memory.bytes[i] = std::clamp<int64_t>(bytes, 0, kMaxBytes);
      }
    }
  }
  return memory;
}

/// A task that uses the device's memory: how many counters precede it, and when it ran.
struct Queued {
  int64_t counters, begin, end;
};

/// The tasks of one stream in the order of its queue.
struct Queue {
  std::vector<Queued> tasks;
  std::vector<int64_t> ends;  ///< the latest end of each task and those before it

  void close() {
    std::sort(tasks.begin(), tasks.end(), [](const Queued& a, const Queued& b) {
      return std::pair(a.counters, a.begin) < std::pair(b.counters, b.begin);
    });
    for (const Queued& task : tasks) {
      ends.push_back(ends.empty() ? task.end : std::max(ends.back(), task.end));
    }
  }
  /// Returns the first task that follows counter `index`, or nullptr.
  const Queued* after(int64_t index) const {
    const auto found =
        std::partition_point(tasks.begin(), tasks.end(),
                             [&](const Queued& t) { return t.counters <= index; });
    return found == tasks.end() ? nullptr : &*found;
  }
  /// Returns the number of tasks that precede counter `index`.
  size_t before(int64_t index) const {
    return static_cast<size_t>(
        std::partition_point(tasks.begin(), tasks.end(),
                             [&](const Queued& t) { return t.counters <= index; }) -
        tasks.begin());
  }
};

/// A counter, and the change since the one before it.
struct Counter {
  int64_t ts = 0;
  int stream = 0;  ///< the last one that uses the block
};

/// Computes when each change of one device's counters takes effect.
class Reached {
 public:
  static constexpr size_t kCopiesOut = 3;

  explicit Reached(std::vector<Counter> counters) : counters_(std::move(counters)) {}

  void add(size_t queue, const Queued& task) { queues_[queue].tasks.push_back(task); }
  bool any() const {
    return std::any_of(std::begin(queues_), std::end(queues_),
                       [](const Queue& queue) { return !queue.tasks.empty(); });
  }
  void close() {
    for (Queue& queue : queues_) queue.close();
  }

  /// Appends the changes from one counter to the next, `index`.
  void change(size_t index, const Memory& before, const Memory& now,
              std::vector<MemoryChange>& changes) {
    const bool moves = before.total() == now.total();
    for (size_t i = 0; i < kMemoryKinds; ++i) {
      const int64_t bytes = now.bytes[i] - before.bytes[i];
      if (bytes == 0) continue;
      const auto category = static_cast<uint8_t>(i);
      if (bytes > 0 || moves) {
        if (!moves) remember(index, changes.size());
        changes.push_back({moves ? next(index) : taken(index), bytes, category});
      } else if (!free_unused(index, bytes, category, changes)) {
        changes.push_back({freed(index), bytes, category});
      }
    }
  }

 private:
  struct Taken {
    size_t counter, change;
  };

  void remember(size_t counter, size_t change) {
    if (taken_.size() >= 4096) taken_.erase(taken_.begin(), taken_.begin() + 2048);
    taken_.push_back({counter, change});
  }

  const Counter& at(size_t index) const { return counters_[index]; }

  const Queued* next_of_any(size_t index) const {
    const Queued* next = nullptr;
    for (const Queue& queue : queues_) {
      const Queued* first = queue.after(static_cast<int64_t>(index));
      if (first == nullptr) continue;
      const bool sooner = next == nullptr || std::pair(first->counters, first->begin) <
                                                 std::pair(next->counters, next->begin);
      if (sooner) next = first;
    }
    return next;
  }

  int64_t next(size_t index) const {
    const Queued* any = next_of_any(index);
    return any == nullptr ? at(index).ts : std::max(at(index).ts, any->begin);
  }

  int64_t taken(size_t index) const {
    const Queued* own = queues_[at(index).stream].after(static_cast<int64_t>(index));
    const int64_t any = next(index);
    return own == nullptr ? any : std::max(at(index).ts, std::min(any, own->begin));
  }

  bool uses(size_t queue, int stream) const {
    if (queue == kCopiesOut) return stream >= 1;
    return queue <= static_cast<size_t>(stream);
  }

  int64_t freed(size_t index) const {
    int64_t when = at(index).ts;
    for (size_t queue = 0; queue < std::size(queues_); ++queue) {
      if (!uses(queue, at(index).stream)) continue;
      const size_t tasks = queues_[queue].before(static_cast<int64_t>(index));
      if (tasks > 0) when = std::max(when, queues_[queue].ends[tasks - 1]);
    }
    return when;
  }

  /// Handles the release of a block that no task has used: it then lived on the host's
  /// clock alone. Returns false if a task may have used the block.
  bool free_unused(size_t index, int64_t bytes, uint8_t category,
                   std::vector<MemoryChange>& changes) {
    int64_t used = -1;  // counters before the last task that could have used it
    for (size_t queue = 0; queue < std::size(queues_); ++queue) {
      if (!uses(queue, at(index).stream)) continue;
      const size_t tasks = queues_[queue].before(static_cast<int64_t>(index));
      if (tasks > 0) used = std::max(used, queues_[queue].tasks[tasks - 1].counters);
    }
    for (size_t i = taken_.size(); i-- > 0;) {
      if (static_cast<int64_t>(taken_[i].counter) < used) break;
      MemoryChange& block = changes[taken_[i].change];
      if (block.bytes != -bytes || block.category != category) continue;
      block.when = at(taken_[i].counter).ts;
      changes.push_back({at(index).ts, bytes, category});
      taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
    return false;
  }

  const std::vector<Counter> counters_;
  Queue queues_[4];           ///< compute, copy, comm; copies out of the device
  std::vector<Taken> taken_;  ///< the newest allocations
};

std::vector<Reached> queues_of(const RawModel& raw) {
  const Model& model = raw.model;
  std::vector<Reached> devices;
  for (const Device& device : model.devices) {
    std::vector<Counter> counters;
    for (const Device::Counter& counter : device.memory) {
      counters.push_back({counter.ts, std::clamp<int>(counter.stream, 0, 2)});
    }
    devices.emplace_back(std::move(counters));
  }
  for (const RawQueued& task : raw.queued) {
    const Event& event = model.events[task.event];
    const Lane& lane = model.lanes[event.lane];
    if (task.counters >= 0 && !lane.is_host() && lane.stream >= 0 && lane.stream < 3) {
      devices[lane.device].add(lane.stream, {task.counters, event.ts, event.end()});
    }
    const Copy* copy = task.src_counters >= 0 ? model.copy_of(task.event) : nullptr;
    if (copy == nullptr || copy->src == kHostDevice) continue;
    devices[copy->src].add(Reached::kCopiesOut,
                           {task.src_counters, event.ts, event.end()});
  }
  return devices;
}

void sum_up(Device& device) {
  std::stable_sort(
      device.changes.begin(), device.changes.end(),
      [](const MemoryChange& a, const MemoryChange& b) { return a.when < b.when; });
  Memory memory = device.first_memory;
  for (size_t i = 0; i < device.changes.size(); ++i) {
    if (i % kBetweenSums == 0) device.sums.push_back(memory);
    memory.bytes[device.changes[i].category] += device.changes[i].bytes;
  }
}

}  // namespace

void index_memory(RawModel& raw) {
  Model& model = raw.model;
  if (raw.queued.empty()) return;
  std::vector<Reached> reached = queues_of(raw);
  for (size_t i = 0; i < model.devices.size(); ++i) {
    Device& device = model.devices[i];
    if (device.memory.empty() || !reached[i].any()) continue;
    reached[i].close();
    Memory before = device.first_memory =
        counter_at(model.text, device.memory.front().text);
    for (size_t counter = 1; counter < device.memory.size(); ++counter) {
      const Memory now = counter_at(model.text, device.memory[counter].text);
      reached[i].change(counter, before, now, device.changes);
      before = now;
    }
    sum_up(device);
  }
}

bool knows_memory_order(const Device& device) { return !device.changes.empty(); }

Memory counted_memory(const Model& model, const Device::Counter& counter) {
  return counter_at(model.text, counter.text);
}

Memory memory_queued(const Model& model, const Device& device, int64_t ts) {
  if (device.memory.empty()) return {};
  auto after = std::upper_bound(
      device.memory.begin(), device.memory.end(), ts,
      [](int64_t t, const Device::Counter& counter) { return t < counter.ts; });
  if (after != device.memory.begin()) --after;
  return counter_at(model.text, after->text);
}

Memory memory_reached(const Device& device, int64_t ts) {
  const auto end = std::upper_bound(
      device.changes.begin(), device.changes.end(), ts,
      [](int64_t t, const MemoryChange& change) { return t < change.when; });
  const auto count = static_cast<size_t>(end - device.changes.begin());
  if (count == 0) return device.first_memory;
  const size_t sum = (count - 1) / kBetweenSums;
  Memory memory = device.sums[sum];
  for (size_t i = sum * kBetweenSums; i < count; ++i) {
    memory.bytes[device.changes[i].category] += device.changes[i].bytes;
  }
  for (int64_t& bytes : memory.bytes) bytes = std::max<int64_t>(0, bytes);
  return memory;
}

}  // namespace lockstep::gui

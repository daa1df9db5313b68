// The rule of gui/model/memory.h, computed from the JSON of a trace with plain loops.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gui/model/memory.h"

namespace lockstep::gui::test {

using CategoryBytes = std::array<int64_t, std::size(tracer::memory_categories)>;

/// The memory counters of one device, and the tasks that use its memory.
class DeviceCounters {
 public:
  void add(const nlohmann::json& event, int64_t ts) {
    Counter counter;
    counter.ts = ts;
    counter.stream = event.value("tid", 0);
    for (size_t i = 0; i < counter.bytes.size(); ++i) {
      counter.bytes[i] = event["args"].value(tracer::memory_categories[i], int64_t{0});
    }
    counters_.push_back(counter);
  }

  /// `device` is its id; `origin` the time of the first event, ns.
  void set_tasks(int64_t device, const nlohmann::json& events, int64_t origin) {
    for (const auto& event : events) {
      if (event.value("ph", "") != "X" || !event.contains("args")) continue;
      const auto& args = event["args"];
      const auto number = [&](const char* key) {
        const auto found = args.find(key);
        const bool known = found != args.end() && found->is_number_integer();
        return known ? found->template get<int64_t>() : int64_t{-1};
      };
      Use use;
      use.begin = std::llround(event["ts"].get<double>() * 1e3) - origin;
      use.end = use.begin + std::llround(event.value("dur", 0.0) * 1e3);
      if (number("device") == device && number("memory_counters") >= 0) {
        use.after = number("memory_counters");
        use.stream = static_cast<int>(number("stream"));
        uses_.push_back(use);
      }
      if (number("src") == device && number("src_memory_counters") >= 0) {
        use.after = number("src_memory_counters");
        use.stream = kOut;
        uses_.push_back(use);
      }
    }
    if (uses_.empty()) return;
    for (size_t i = 1; i < counters_.size(); ++i) change(i);
  }

  bool knows_order() const { return !changes_.empty(); }

  CategoryBytes queued(int64_t now) const {
    CategoryBytes bytes = counters_.front().bytes;
    for (const Counter& counter : counters_) {
      if (counter.ts <= now) bytes = counter.bytes;
    }
    return bytes;
  }

  CategoryBytes reached(int64_t now) const {
    CategoryBytes bytes = counters_.front().bytes;
    for (const Change& change : changes_) {
      if (change.when <= now) bytes[change.category] += change.bytes;
    }
    return bytes;
  }

 private:
  static constexpr int kOut = 3;  ///< copies out of the device

  struct Counter {
    int64_t ts = 0;
    int stream = 0;
    CategoryBytes bytes{};
  };
  struct Use {
    int64_t after = 0, begin = 0, end = 0;  ///< `after` so many counters
    int stream = 0;
  };
  struct Change {
    int64_t when, bytes;
    size_t category, counter;
    bool paired = false;
  };

  void change(size_t index) {
    const CategoryBytes &before = counters_[index - 1].bytes,
                        &now = counters_[index].bytes;
    int64_t sum = 0;
    for (size_t i = 0; i < now.size(); ++i) sum += now[i] - before[i];
    for (size_t i = 0; i < now.size(); ++i) {
      const int64_t bytes = now[i] - before[i];
      if (bytes == 0) continue;
      if (sum == 0) {
        changes_.push_back({start_after(index, -1), bytes, i, index, true});
      } else if (bytes > 0) {
        const int64_t own = start_after(index, counters_[index].stream);
        const int64_t any = start_after(index, -1);
        const bool none = !exists_after(index, counters_[index].stream);
        changes_.push_back({none ? any : std::min(own, any), bytes, i, index});
      } else {
        release(index, i, bytes);
      }
    }
  }

  /// A block that no task can have used lives on the host's clock.
  void release(size_t index, size_t category, int64_t bytes) {
    int64_t last = -1, end = counters_[index].ts;
    for (const Use& use : uses_) {
      const int stream = counters_[index].stream;
      const bool uses_it = use.stream == kOut ? stream >= 1 : use.stream <= stream;
      if (!uses_it || use.after > static_cast<int64_t>(index)) continue;
      last = std::max(last, use.after);
      end = std::max(end, use.end);
    }
    for (size_t i = changes_.size(); i-- > 0;) {
      Change& block = changes_[i];
      if (block.paired || static_cast<int64_t>(block.counter) < last) continue;
      if (block.category != category || block.bytes != -bytes) continue;
      block.paired = true;
      block.when = counters_[block.counter].ts;
      changes_.push_back({counters_[index].ts, bytes, category, index, true});
      return;
    }
    changes_.push_back({end, bytes, category, index, true});
  }

  bool exists_after(size_t index, int stream) const {
    return std::any_of(uses_.begin(), uses_.end(), [&](const Use& use) {
      return use.stream == stream && use.after > static_cast<int64_t>(index);
    });
  }

  /// Returns the start of the first task of a stream (-1: of any) enqueued after a
  /// counter, at least the counter's time.
  int64_t start_after(size_t index, int stream) const {
    const Use* first = nullptr;
    for (const Use& use : uses_) {
      if (use.after <= static_cast<int64_t>(index)) continue;
      if (stream >= 0 && use.stream != stream) continue;
      const bool sooner = first == nullptr || use.after < first->after ||
                          (use.after == first->after && use.begin < first->begin);
      if (sooner) first = &use;
    }
    const int64_t ts = counters_[index].ts;
    return first == nullptr ? ts : std::max(ts, first->begin);
  }

  std::vector<Counter> counters_;
  std::vector<Use> uses_;
  std::vector<Change> changes_;
};

}  // namespace lockstep::gui::test

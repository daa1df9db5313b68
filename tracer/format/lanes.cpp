#include "tracer/format/lanes.h"

#include <unordered_map>
#include <utility>

namespace lockstep::tracer {

namespace {

/// Collects facts from the events, last to first; the first value found is kept.
class PlaceFinder {
 public:
  PlaceFinder(const Trace& trace, std::map<LaneKey, Lane>& lanes) : lanes_(lanes) {
    const Event* last = nullptr;  // consecutive events are mostly of one process
    for (const Event& event : trace.events) {
      if (event.ph != 'X' || is_task(event)) continue;
      if (last != nullptr && last->pid == event.pid) continue;
      last = &event;
      first_host_event_.try_emplace(event.pid, &event);
    }
    for (auto event = trace.events.rbegin(); event != trace.events.rend(); ++event) {
      if (event->ph == 'M') {
        take_metadata(*event);
      } else {
        take(*event);
      }
    }
  }

  void finish() {
    for (auto& [key, found] : found_) {
      if (found.lane == nullptr) continue;
      const Process& process = processes_[key.pid];
      found.lane->process = process.lane.process;
      found.lane->process_sort = process.lane.process_sort;
      found.lane->rank = process.lane.rank;
      found.lane->device = process.lane.device;
    }
  }

 private:
  /// A pid stands for an entire host or device, so one event locates all of its lanes.
  struct Process {
    Lane lane;
    const Event* first_host_event = nullptr;
    bool rank = false, device = false, name = false, sort = false;  ///< known
  };
  struct Found {
    Lane* lane = nullptr;
    Process* process = nullptr;
    bool stream = false, name = false, sort = false;  ///< known
  };

  Process& process_of(int64_t pid) {
    const auto [process, is_new] = processes_.try_emplace(pid);
    if (is_new) {
      const auto first = first_host_event_.find(pid);
      if (first != first_host_event_.end()) {
        process->second.first_host_event = first->second;
      }
    }
    return process->second;
  }

  Found& found_on(const Event& event) {
    Found& found = found_[lane_of(event)];
    if (found.lane == nullptr) {
      found.lane = &lanes_[lane_of(event)];
      found.process = &process_of(event.pid);
    }
    return found;
  }

  void take(const Event& event) {
    Found& found = found_on(event);
    if (is_task(event)) {
      take_place(event, *found.process);
      take_stream(event, found);
    } else if (&event == found.process->first_host_event) {
      take_rank(event, *found.process);
    }
  }

  static void take_number(const Event& event, const char* key, int64_t& field,
                          bool& known) {
    if (known) return;
    const Value value = event.args.find(key);
    known = value.exists() && value.integer(0) == value.integer(1);
    if (known) field = value.integer();
  }
  static void take_rank(const Event& event, Process& process) {
    take_number(event, keys::rank, process.lane.rank, process.rank);
  }
  static void take_stream(const Event& event, Found& found) {
    take_number(event, keys::stream, found.lane->stream, found.stream);
  }
  static void take_place(const Event& event, Process& process) {
    take_rank(event, process);
    take_number(event, keys::device, process.lane.device, process.device);
    if (process.lane.device < 0) process.lane.device = kHost;
  }

  void take_metadata(const Event& event) {
    const auto text = [&](std::string& field, bool& known) {
      if (!std::exchange(known, true)) field = string_arg(event.args, keys::name);
    };
    const auto sort = [&](int64_t& field, bool& known) {
      if (!std::exchange(known, true)) field = int_arg(event.args, keys::sort_index);
    };
    if (event.name == names::process_name || event.name == names::process_sort_index) {
      Process& process = process_of(event.pid);
      if (event.name == names::process_name) {
        text(process.lane.process, process.name);
      } else {
        sort(process.lane.process_sort, process.sort);
      }
      take_place(event, process);
    } else if (event.name == names::thread_name ||
               event.name == names::thread_sort_index) {
      Found& found = found_on(event);
      if (event.name == names::thread_name) {
        text(found.lane->thread, found.name);
      } else {
        sort(found.lane->thread_sort, found.sort);
      }
      take_stream(event, found);
    }
  }

  std::map<LaneKey, Lane>& lanes_;
  LaneMap<Found> found_;
  std::unordered_map<int64_t, Process> processes_;
  std::unordered_map<int64_t, const Event*> first_host_event_;
};

}  // namespace

Lanes::Lanes(const Trace& trace) {
  PlaceFinder(trace, lanes_).finish();
  for (auto& [key, lane] : lanes_) by_key_[key] = &lane;
}

}  // namespace lockstep::tracer

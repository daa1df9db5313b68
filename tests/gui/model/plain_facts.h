// What a trace says of its devices, computed from its JSON without the viewer's model:
// lists of tasks and transfers, sorted by time.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/gui/model/memory_rule.h"

namespace lockstep::gui::test {

using nlohmann::json;

struct Task {
  std::string cat, name;
  int64_t begin = 0, end = 0;
  int64_t id = -1, device = -1, stream = -1, op = -1, held_by = -1, queued = 0;
  std::vector<int64_t> deps;
  bool copies() const { return cat == "copy" || cat == "gpu_memcpy"; }
};

inline constexpr int64_t kAll = -2;  ///< all streams of a device

/// The tasks of a stream, or of a device.
struct Row {
  std::vector<const Task*> tasks;  ///< by begin
  std::vector<int64_t> latest;     ///< the latest end until each task

  void sort() {
    std::stable_sort(tasks.begin(), tasks.end(),
                     [](const Task* a, const Task* b) { return a->begin < b->begin; });
    for (const Task* task : tasks) {
      latest.push_back(std::max(latest.empty() ? INT64_MIN : latest.back(), task->end));
    }
  }
  size_t begun(int64_t t) const {
    const auto later =
        std::upper_bound(tasks.begin(), tasks.end(), t,
                         [](int64_t ts, const Task* task) { return ts < task->begin; });
    return static_cast<size_t>(later - tasks.begin());
  }
  std::vector<const Task*> running(int64_t t) const {
    std::vector<const Task*> found;
    for (size_t i = begun(t); i-- > 0 && latest[i] > t;) {
      if (tasks[i]->end > t) found.push_back(tasks[i]);
    }
    return found;
  }
  const Task* next(int64_t t) const {
    const size_t i = begun(t);
    return i == tasks.size() ? nullptr : tasks[i];
  }
};

/// What passed through a port in one direction, by the end of its transfer.
struct Passed {
  std::vector<std::pair<int64_t, int64_t>> ended;  ///< when, bytes; sorted
  std::vector<int64_t> sums;                       ///< before each

  void add(int64_t when, int64_t bytes) { ended.emplace_back(when, bytes); }
  void sort() {
    std::sort(ended.begin(), ended.end());
    sums = {0};
    for (const auto& [when, bytes] : ended) sums.push_back(sums.back() + bytes);
  }
  /// Returns the bytes of what ended before `t`.
  int64_t before(int64_t t) const {
    const auto later =
        std::lower_bound(ended.begin(), ended.end(), std::pair(t, INT64_MIN));
    return sums[static_cast<size_t>(later - ended.begin())];
  }
};

inline int64_t integer(const json& args, const char* key, int64_t otherwise) {
  const auto found = args.find(key);
  return found != args.end() && found->is_number_integer() ? found->get<int64_t>()
                                                           : otherwise;
}

inline std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

inline bool is_device_category(const std::string& cat) {
  return cat == "kernel" || cat == "Kernel" || cat == "copy" || cat == "collective" ||
         cat == "gpu_memcpy" || cat == "gpu_memset" || cat == "Memcpy" ||
         cat == "Memset";
}

/// A trace as a list of facts.
struct PlainFacts {
  std::vector<Task> tasks;
  std::map<std::pair<int64_t, int64_t>, Row> rows;  ///< by device, and stream or kAll
  std::map<int64_t, Passed> in, out;                ///< by device
  std::vector<int64_t> boundaries;                  ///< sorted
  std::map<int64_t, std::pair<int64_t, int64_t>> span_of_id;  ///< begin, end
  std::map<int64_t, DeviceCounters> counters;                 ///< by device
  bool ours = false, null = false, precise = true;
  int64_t origin = INT64_MAX;

  explicit PlainFacts(const json& trace) {
    if (trace.is_object() && trace.contains("lockstep")) {
      const json& meta = trace["lockstep"];
      ours = meta.contains("format") && !meta.contains("imported");
      null = meta.value("clock", "") != "emulated" &&
             std::any_of(
                 meta["devices"].begin(), meta["devices"].end(),
                 [](const json& d) { return text(d, "name").starts_with("null"); });
    }
    const json& events = trace.is_array() ? trace : trace["traceEvents"];
    std::map<int64_t, int64_t> device_of_pid;
    for (const json& event : events) {
      const std::string ph = text(event, "ph");
      const json args = event.value("args", json::object());
      if (ph == "C") continue;
      const int64_t device = integer(args, "device", -1);
      if (device >= 0 && event["pid"].is_number()) device_of_pid[event["pid"]] = device;
      if ((ph == "X" || ph == "i") && event.contains("ts")) {
        origin = std::min(origin, ns(event["ts"]));
      }
    }
    for (const json& event : events) take(event, device_of_pid);
    for (auto& [device, list] : counters) list.set_tasks(device, events, origin);
    index();
  }

  void take(const json& event, std::map<int64_t, int64_t>& device_of_pid) {
    const std::string ph = text(event, "ph");
    const json args = event.value("args", json::object());
    if (ph == "C" && text(event, "name") == "memory") {
      counters[device_of_pid[event["pid"]]].add(event, ns(event["ts"]) - origin);
    }
    if (ph != "X" || !event.contains("ts")) return;
    Task task;
    task.cat = text(event, "cat");
    task.name = text(event, "name");
    task.begin = ns(event["ts"]) - origin;
    task.end = task.begin + (event.contains("dur") ? ns(event["dur"]) : 0);
    task.id = integer(args, "id", -1);
    if (task.id >= 0) span_of_id[task.id] = {task.begin, task.end};
    task.device = integer(args, "device", -1);
    task.stream = integer(args, "stream", -1);
    task.op = integer(args, "op", -1);
    task.held_by = integer(args, "port_held_by", -1);
    if (args.contains("queued_us") && args["queued_us"].is_number()) {
      task.queued = static_cast<int64_t>(args["queued_us"].get<double>() * 1e3);
    }
    for (const json& dep : args.value("deps", json::array())) task.deps.push_back(dep);
    const int64_t bytes = integer(args, "bytes", 0);
    if (task.cat == "copy") {
      in[integer(args, "dst", -1)].add(task.end, bytes);
      out[integer(args, "src", -1)].add(task.end, bytes);
    } else if (is_device_category(task.cat) && task.name.starts_with("Memcpy ")) {
      const bool enters = task.name.find("HtoD") != std::string::npos;
      const bool leaves = task.name.find("DtoH") != std::string::npos;
      if (enters) in[task.device].add(task.end, bytes);
      if (leaves) out[task.device].add(task.end, bytes);
    }
    if (is_device_category(task.cat) && task.device >= 0) tasks.push_back(task);
  }

  int64_t ns(const json& us) {
    if (us.is_number_integer()) return us.get<int64_t>() * 1000;
    const double value = us.get<double>();
    precise &= std::abs(value) < 1e12;
    return std::llround(value * 1e3);
  }

  /// Sorts what has been read.
  void index() {
    for (const Task& task : tasks) {
      rows[{task.device, task.stream}].tasks.push_back(&task);
      rows[{task.device, kAll}].tasks.push_back(&task);
      boundaries.insert(boundaries.end(), {task.begin, task.end});
    }
    for (auto& [place, row] : rows) row.sort();
    for (auto& [device, passed] : in) passed.sort();
    for (auto& [device, passed] : out) passed.sort();
    std::sort(boundaries.begin(), boundaries.end());
  }

  /// Returns the tasks of a device (of one stream, or kAll) that run at `t`.
  std::vector<const Task*> running(int64_t device, int64_t stream, int64_t t) const {
    const auto row = rows.find({device, stream});
    return row == rows.end() ? std::vector<const Task*>() : row->second.running(t);
  }

  /// Returns "core conv2d", "event conv2d", … or "nothing".
  std::string waiting(int64_t device, int64_t t) const {
    if (!ours) return "nothing";
    for (const int64_t stream : {0, 2, 1}) {
      if (!running(device, stream, t).empty()) continue;
      const auto row = rows.find({device, stream});
      const Task* next = row == rows.end() ? nullptr : row->second.next(t);
      const auto op = next == nullptr ? span_of_id.end() : span_of_id.find(next->op);
      if (op == span_of_id.end() || op->second.first > t) continue;
      const bool may_wait = !null && next->cat != "copy";  // a copy needs no core
      if (t >= next->begin - next->queued && may_wait) {
        return (next->cat == "collective" ? "ranks " : "core ") + next->name;
      }
      for (const int64_t dep : next->deps) {
        const auto span = span_of_id.find(dep);
        if (span != span_of_id.end() && span->second.second > t) {
          return "event " + next->name;
        }
      }
      const auto holder = span_of_id.find(next->held_by);
      if (holder != span_of_id.end() && holder->second.second > t) {
        return "port " + next->name;
      }
      return "start " + next->name;
    }
    return "nothing";
  }

  bool is_near_a_boundary(int64_t t) const {
    const auto next = std::lower_bound(boundaries.begin(), boundaries.end(), t - 1999);
    return next != boundaries.end() && *next < t + 2000;
  }
};

}  // namespace lockstep::gui::test

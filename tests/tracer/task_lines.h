// What the devices of a step do, as text: to compare a constructed program with one
// that the engine recorded.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tracer/analysis/steps.h"
#include "tracer/format/facts.h"
#include "tracer/format/index.h"

namespace lockstep::tracer::testing {

/// The tasks of each stream in order, and what each waits for: by stream and position.
class TaskLines {
 public:
  explicit TaskLines(const Trace& trace) : index_(trace), step_(step_in(trace)) {
    for (const Event& event : trace.events) {
      if (!is_task(event) || event.step != step_) continue;
      std::vector<const Event*>& tasks = streams_[lane_name(event)];
      places_[event.id] = lane_name(event) + "#" + std::to_string(tasks.size());
      tasks.push_back(&event);
    }
  }

  /// One line per task. The bytes that depend on the batch are left out.
  std::map<std::string, std::vector<std::string>> lines() const {
    std::map<std::string, std::vector<std::string>> all;
    for (const auto& [name, tasks] : streams_) {
      for (const Event* task : tasks) all[name].push_back(line(*task));
    }
    return all;
  }

 private:
  static int64_t step_in(const Trace& trace) {
    for (const Step& step : find_steps(trace)) {
      if (step.train) return step.number;
    }
    return kNone;
  }

  static std::string lane_name(const Event& event) {
    const int64_t device = int_arg(event.args, keys::device, kHost);
    return std::to_string(device) + "/" +
           std::to_string(int_arg(event.args, keys::stream, kNone));
  }

  std::string line(const Event& task) const {
    std::string text = task.name.str() + " by " + index_.find(task.op)->name.str() +
                       " in " + std::string(text_arg(task.args, keys::phase));
    const CopyFacts copy = copy_facts(task);
    if (task.is(categories::copy)) {
      text += " " + std::string(copy.why) + " " + std::string(copy.tensor) + " " +
              std::to_string(copy.src) + ">" + std::to_string(copy.dst);
    }
    const bool grouped = copy.tensor == "group" || task.name.view() == "flatten_many" ||
                         text_arg(task.args, keys::phase) == phases::reduce;
    if (grouped) text += " " + std::to_string(int_arg(task.args, keys::bytes)) + " B";
    std::vector<std::string> awaited;
    for (const int64_t id : task.deps) {
      if (places_.contains(id)) awaited.push_back(places_.at(id));
    }
    std::sort(awaited.begin(), awaited.end());
    for (const std::string& place : awaited) text += " after " + place;
    return text;
  }

  const Index index_;
  const int64_t step_;
  std::map<std::string, std::vector<const Event*>> streams_;
  std::map<int64_t, std::string> places_;
};

}  // namespace lockstep::tracer::testing

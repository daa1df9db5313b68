// Converts one rank's events to PyTorch's terms. The tools mainly need the links from
// a kernel to its launch (`correlation`, flow ac2g), from the launch to its operator
// (nesting, `External id`), and from a backward operator to its forward one (fwdbwd).
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tracer/format/index.h"
#include "tracer/format/lanes.h"
#include "tracer/format/times.h"
#include "tracer/kineto/kineto.h"
#include "tracer/kineto/names.h"
#include "tracer/kineto/tasks.h"

namespace lockstep::tracer {

namespace {

constexpr int64_t kFirstHost = 100'000;  ///< smaller pids are devices, as in Kineto
constexpr int64_t kLaunchTime = 1'000;   ///< ns, at most
constexpr int64_t kStreams[] = {7, 13, 20};
constexpr int64_t kFromDevice = 14;
constexpr const char* kStreamNames[] = {"compute", "copy", "comm"};

bool is_message(const Event& task) { return task.args.contains(keys::ring_step); }

/// Our ids start at 0; PyTorch's start at 1.
int64_t number_of(int64_t id) { return add_within_range(id, 1); }

class RankEvents {
 public:
  RankEvents(const Trace& trace, int64_t rank)
      : trace_(trace), index_(trace), lanes_(trace), rank_(rank) {
    host_ = kFirstHost * (rank + 1);
    ranks_ = std::max<int64_t>(
        1, int_arg(object_arg(trace.other, top::distributed), "world_size", 1));
    for (const Event& event : trace.events) {
      next_number_ = std::max(next_number_, number_of(number_of(event.id)));
    }
  }

  std::vector<Event> take() {
    find_host_threads();
    find_sequence_numbers();
    for (const Event& event : trace_.events) {
      if (event.ph == 'M' || !is_mine(event)) continue;
      if (event.ph == 'X') add_event(event);
      if (event.ph == 'i' && !event.is(categories::send)) add_mark(event);
      if (event.ph == 'C') add_counter(event);
    }
    for (auto& [op, tasks] : launched_) add_launches(*index_.find(op), tasks);
    add_names();
    sort_events(events_);
    return std::move(events_);
  }

 private:
  struct Place {
    int64_t pid = 0, tid = 0;
  };

  bool is_mine(const Event& event) const { return lanes_.of(event).rank == rank_; }

  /// The thread that runs the steps is the main one: its tid is its pid, as on Linux.
  void find_host_threads() {
    for (const Event& event : trace_.events) {
      if (event.ph != 'X' || is_task(event) || !is_mine(event)) continue;
      if (!lanes_.of(event).is_host()) continue;
      bounds_[lane_of(event)].push_back(event.ts);
      bounds_[lane_of(event)].push_back(event.end());
      if (event.name == names::step && event.is(categories::phase)) {
        threads_.try_emplace(lane_of(event), host_);
      }
    }
    for (auto& [lane, bounds] : bounds_) {
      std::sort(bounds.begin(), bounds.end());
      const auto next = host_ + static_cast<int64_t>(threads_.size());
      threads_.try_emplace(lane, threads_.empty() ? host_ : next);
    }
  }

  void find_sequence_numbers() {
    for (const Event& event : trace_.events) {
      if (event.fwd == kNone || !index_.find(event.fwd)) continue;
      sequence_.try_emplace(event.fwd, static_cast<int64_t>(sequence_.size()) + 1);
    }
  }

  Place place_of(const Event& event) const {
    const Lane& lane = lanes_.of(event);
    if (!lane.is_host()) {
      const bool known = lane.stream >= 0 && lane.stream < 3;
      return {lane.device, known ? kStreams[lane.stream] : 7};
    }
    if (is_task(event)) return {port_arg(event.args, keys::src), kFromDevice};
    const auto thread = threads_.find(lane_of(event));
    return {host_, thread == threads_.end() ? host_ : thread->second};
  }

  Event& add(char ph, std::string_view cat, std::string name, Place place, int64_t ts,
             int64_t dur = 0) {
    Event& event = events_.emplace_back();
    event.ph = ph, event.cat = cat, event.name = std::move(name);
    event.pid = place.pid, event.tid = place.tid, event.ts = ts, event.dur = dur;
    return event;
  }

  void add_event(const Event& event) {
    if (is_task(event)) return add_task(event);
    const Place place = place_of(event);
    const auto put = [&](const char* cat, std::string name, Json args) {
      add('X', cat, std::move(name), place, event.ts, event.dur).args = std::move(args);
    };
    if (event.is(categories::phase) && event.name == names::step) {
      put("user_annotation", profiler_step_name(event.step), identity(event));
    } else if (event.is(categories::phase)) {
      put("user_annotation", std::string(annotation_of_phase(event.name)),
          identity(event));
    } else if (event.is(categories::call)) {
      put("python_function", name_of_call(event), call_args(event));
    } else if (event.is(categories::sync)) {
      const std::string why = string_arg(event.args, keys::why);
      if (why == "join" || why == "queue") {  // threads that wait for threads
        put("user_annotation", event.name, identity(event));
      } else {
        const bool all = why == "device";
        put("cuda_runtime", all ? "cudaDeviceSynchronize" : "cudaStreamSynchronize",
            {{"cbid", all ? 165 : 131}, {"correlation", number_of(event.id)}});
      }
    } else if (event.is(categories::op)) {
      put("cpu_op", event.name, op_args(event));
      add_fwdbwd(event);
    }
  }

  Json identity(const Event& event) const {
    return {{"External id", number_of(event.id)}, {"Record function id", 0}};
  }

  /// `ResNet.__call__` → `nn.Module: ResNet_0`; `ResNet.forward` → `engine/models/
  /// resnet.cpp(133): forward`.
  std::string name_of_call(const Event& event) {
    const size_t dot = event.name.rfind('.');
    const std::string type = event.name.substr(0, dot);
    const std::string function =
        dot == event.name.npos ? type : event.name.substr(dot + 1);
    if (function == "__call__") {
      return fmt::format("nn.Module: {}_{}", type, module_number(type, event));
    }
    return fmt::format("{}({}): {}", string_arg(event.args, keys::def_file),
                       int_arg(event.args, keys::def_line), function);
  }

  /// Modules of a type are numbered in order of first appearance.
  int64_t module_number(const std::string& type, const Event& event) {
    auto& known = modules_[type];
    const auto next = static_cast<int64_t>(known.size());
    return known.try_emplace(string_arg(event.args, keys::module), next).first->second;
  }

  Json call_args(const Event& event) {
    auto& open = calls_[lane_of(event)];
    while (!open.empty() && open.back()->end() <= event.ts) open.pop_back();
    Json parent = nullptr;
    if (!open.empty()) {
      parent = number_of(open.back()->id);
    } else if (const Event* caller = index_.find(event.parent);
               event.parent != kNone && caller && caller->is(categories::call)) {
      parent = number_of(caller->id);
    }
    open.push_back(&event);
    Json args = {{"Python parent id", parent}, {"Python id", number_of(event.id)}};
    const size_t call = event.name.rfind(".__call__");
    if (call != event.name.npos) {
      args["Python module id"] = module_number(event.name.substr(0, call), event);
    }
    return args;
  }

  Json op_args(const Event& event) const {
    Json args = identity(event);
    if (const Value shapes = event.args.find(keys::shapes); shapes.exists()) {
      args["Input Dims"] = shapes.json();
    }
    const int64_t forward = event.fwd == kNone ? event.id : event.fwd;
    if (const auto number = sequence_.find(forward); number != sequence_.end()) {
      const Event* op = event.fwd == kNone ? nullptr : index_.find(event.fwd);
      args["Sequence number"] = number->second;
      args["Fwd thread id"] = op ? place_of(*op).tid : 0;
    }
    return args;
  }

  void add_fwdbwd(const Event& backward) {
    const Event* forward = backward.fwd == kNone ? nullptr : index_.find(backward.fwd);
    if (!forward || !is_mine(*forward)) return;
    const int64_t id = ++fwdbwd_;
    add('s', "fwdbwd", "fwdbwd", place_of(*forward), forward->ts).id = id;
    add('f', "fwdbwd", "fwdbwd", place_of(backward), backward.ts).id = id;
  }

  void add_task(const Event& task) {
    if (is_message(task)) return;  // NCCL does not show these either
    const Place place = place_of(task);
    if (place.pid < 0) return;
    streams_[{place.pid, place.tid}];
    const Event* op = task.op == kNone ? nullptr : index_.find(task.op);
    if (op && is_mine(*op)) launched_[op->id].push_back(&task);
    Json args;
    if (op) args["External id"] = number_of(op->id);
    args[keys::device] = place.pid;
    args["context"] = 1;
    args[keys::stream] = place.tid;
    args[keys::correlation] = number_of(task.id);
    const char* cat = task.is(categories::copy) ? "gpu_memcpy" : "kernel";
    args.update(task.is(categories::copy) ? copy_args(task) : kernel_placeholders());
    if (task.is(categories::collective)) {
      const Json facts = collective_args(task, rank_, ranks_);
      args.update(facts);
      if (op) add_comms(*op, task, facts);
    }
    add('X', cat, kineto_name(task), place, task.ts, task.dur).args = std::move(args);
  }

  /// Adds the two events that c10d nests inside the operator that starts a collective:
  /// record_param_comms and nccl:<name>.
  void add_comms(const Event& op, const Event& task, const Json& facts) {
    const Place place = place_of(op);
    const TypeNames* type = type_of_ours(string_arg(task.args, keys::dtype));
    Json args = {{"External id", next_number_}, {"Record function id", 0}};
    next_number_ = number_of(next_number_);
    Json annotation = args;
    args.update(facts);
    annotation["External id"] = next_number_;
    next_number_ = number_of(next_number_);
    annotation["Input Dims"] = Json::array({Json::array({facts["In msg nelems"]})});
    annotation["Input type"] = Json::array({type ? type->input : "unsigned char"});
    add('X', "cpu_op", "record_param_comms", place, op.ts, op.dur).args = args;
    add('X', "user_annotation", "nccl:" + task.name, place, op.ts, op.dur).args =
        annotation;
  }

  /// Launch times within an operator were not recorded: spreads the launches evenly, in
  /// order, each before its task began and without crossing the thread's other events.
  void add_launches(const Event& op, std::vector<const Event*>& tasks) {
    const auto by_id = [](const Event* a, const Event* b) { return a->id < b->id; };
    std::sort(tasks.begin(), tasks.end(), by_id);
    const auto count = static_cast<int64_t>(tasks.size());
    const std::vector<int64_t>& bounds = bounds_[lane_of(op)];
    const Place place = place_of(op);
    const int64_t share = op.dur / (count + 1), longest = std::min(kLaunchTime, share);
    int64_t free = op.ts;  // end of the previous launch
    for (int64_t i = 0; i < count; ++i) {
      const Event& task = *tasks[i];
      const int64_t even = std::min(op.ts + share * (i + 1), task.ts - longest);
      const int64_t ts = std::max(op.ts, std::min(std::max(even, free), task.ts));
      const auto bound = std::upper_bound(bounds.begin(), bounds.end(), ts);
      const int64_t room = bound == bounds.end() ? 0 : *bound - ts;
      const int64_t length =
          std::clamp<int64_t>(task.ts - ts, 0, std::min(longest, room));
      free = std::max(free, ts + length);
      const bool copies = task.is(categories::copy);
      const int64_t id = number_of(task.id);
      add('X', "cuda_runtime", copies ? "cudaMemcpyAsync" : "cudaLaunchKernel", place,
          ts, length)
          .args = {{"External id", number_of(op.id)},
                   {"cbid", copies ? 41 : 211},
                   {"correlation", id}};
      add('s', "ac2g", "ac2g", place, ts).id = id;
      add('f', "ac2g", "ac2g", place_of(task), task.ts).id = id;
    }
  }

  void add_mark(const Event& mark) {
    Json args = mark.args.json();
    for (const char* ours : {"rank", "device", "stream", "by"}) args.erase(ours);
    add('i', "cpu_instant_event", mark.name, place_of(mark), mark.ts).args = args;
  }

  void add_counter(const Event& counter) {
    const Lane& lane = lanes_.of(counter);
    const Place place = {lane.is_host() ? host_ : lane.device, 0};
    add('C', "", "memory", place, counter.ts).args = counter.args.json();
  }

  void add_names() {
    const auto name = [&](const char* key, const char* arg, Place place, Json value) {
      add('M', "", key, place, 0).args[arg] = std::move(value);
    };
    const auto process = [&](int64_t pid, const std::string& text,
                             const std::string& label, int64_t sort) {
      name("process_name", "name", {pid, 0}, text);
      name("process_labels", "labels", {pid, 0}, label);
      name("process_sort_index", "sort_index", {pid, 0}, sort);
    };
    process(host_, "lockstep", "CPU", host_);
    std::map<int64_t, std::string> threads;
    for (const auto& [lane, tid] : threads_) {
      threads[tid] = fmt::format("thread {} ({})", tid, lanes_.all().at(lane).thread);
    }
    for (const auto& [tid, text] : threads) {
      name("thread_name", "name", {host_, tid}, text);
      name("thread_sort_index", "sort_index", {host_, tid}, tid);
    }
    int64_t last = -1;
    for (const auto& [lane, unused] : streams_) {
      if (std::exchange(last, lane.pid) != lane.pid) {
        process(lane.pid, "lockstep", fmt::format("GPU {}", lane.pid),
                add_within_range(5'000'000, lane.pid));
      }
      const auto stream = std::find(std::begin(kStreams), std::end(kStreams), lane.tid);
      const char* what = stream == std::end(kStreams)
                             ? "copy to host"
                             : kStreamNames[stream - std::begin(kStreams)];
      name("thread_name", "name", {lane.pid, lane.tid},
           fmt::format("stream {} ({})", lane.tid, what));
      name("thread_sort_index", "sort_index", {lane.pid, lane.tid}, lane.tid);
    }
  }

  const Trace& trace_;
  const Index index_;
  const Lanes lanes_;
  const int64_t rank_;
  int64_t host_ = 0, ranks_ = 1, next_number_ = 1, fwdbwd_ = 0;
  std::map<LaneKey, int64_t> threads_;
  std::map<LaneKey, std::vector<int64_t>> bounds_;  ///< starts and ends, sorted
  std::map<LaneKey, std::vector<const Event*>> calls_;
  std::map<LaneKey, bool> streams_;
  std::map<int64_t, int64_t> sequence_;  ///< forward op → its number
  std::map<std::string, std::map<std::string, int64_t>> modules_;
  std::map<int64_t, std::vector<const Event*>> launched_;
  std::vector<Event> events_;
};

}  // namespace

std::vector<Event> kineto_events(const Trace& trace, int64_t rank) {
  return RankEvents(trace, rank).take();
}

}  // namespace lockstep::tracer

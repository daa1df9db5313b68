#include "tracer/emulate/construct/worker_program.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

constexpr int64_t kRead = 1;  ///< the version of the weights that the step begins with

/// Returns a worker's part of a step: the optimizer's phase is there, but empty and
/// without a length.
RecordedStep without_update(const RecordedStep& step) {
  const Event& optimizer = find_phase(step, phases::optimizer);
  const LaneKey lane = lane_of(optimizer);
  const int64_t begin = optimizer.ts, end = optimizer.end();
  const auto earlier = [&](int64_t time) {
    return time <= begin ? time : std::max(begin + 1, time - (end - begin - 1));
  };
  std::unordered_set<int64_t> left_out;
  for (const Event& event : step.events) {
    if (is_inside(event, optimizer)) left_out.insert(event.id);
  }
  for (const Event& event : step.events) {
    if (is_task(event) && left_out.contains(event.op)) left_out.insert(event.id);
  }
  RecordedStep result = step;
  std::erase_if(result.events,
                [&](const Event& event) { return left_out.contains(event.id); });
  for (Event& event : result.events) {
    IdList waits_for;
    for (const int64_t id : event.waits_for) {
      if (!left_out.contains(id)) waits_for.push_back(id);
    }
    event.waits_for = std::move(waits_for);
    if (lane_of(event) != lane) continue;
    const int64_t until = earlier(event.end());
    event.ts = earlier(event.ts);
    event.dur = until - event.ts;
  }
  return result;
}

class Worker {
 public:
  Worker(const RecordedStep& step, const std::vector<plan::KeyRange>& ranges,
         int update)
      : recorded_(step),
        step_(without_update(step)),
        rank_(step_, nullptr),
        ranges_(ranges),
        update_(update),
        requests_(ranges.size()) {
    for (const ModelTensor& tensor : step.parameters) {
      keys_ += tensor.numel;
      item_ = tensor.bytes / std::max<int64_t>(1, tensor.numel);
    }
  }

  WorkerProgram run() {
    const Event& forward = find_phase(step_, phases::forward);
    const Event& optimizer = find_phase(step_, phases::optimizer);
    // Before the forward pass, which has not begun yet.
    rank_.at({lane_of(forward), forward.ts - 1}, [&] { pull(); });
    rank_.at({lane_of(optimizer), optimizer.ts}, [&] { push(); });
    WorkerProgram result{rank_.finish(), rank_.ids(), std::move(requests_)};
    unpack_first(result.events);
    wait_for_packing(result.events);
    return result;
  }

 private:
  Json request(size_t server) const {
    return {{keys::worker, 0},
            {keys::server, static_cast<int64_t>(server)},
            {keys::read_version, kRead}};
  }
  Json shape_of(size_t server) const {
    return {{keys::shapes, Json::array({Json::array({ranges_[server].size()})})}};
  }

  void pull() {
    IdList pulled;
    const auto request_all = [&] {
      for (size_t i = 0; i < requests_.size(); ++i) {
        rank_.phase(
            phases::pull,
            [&] {
              requests_[i].pull = rank_.reserve();
              requests_[i].pull_op = rank_.launch("aten::copy_", shape_of(i));
              pulled.push_back(requests_[i].pull);
            },
            request(i));
      }
      for (const ModelTensor& tensor : step_.parameters) {
        const int64_t copied =
            rank_.kernel("aten::copy_", "copy", phases::pull, 2 * tensor.bytes,
                         std::exchange(pulled, {}));
        if (unpacks_ == kNone) unpacks_ = copied;
      }
    };
    rank_.phase(phases::pull, request_all);
  }

  void push() {
    for (const ModelTensor& tensor : step_.parameters) {
      packed_ = rank_.kernel("aten::mul", "scale", phases::optimizer, 2 * tensor.bytes);
    }
    rank_.wait({packed_}, reasons::stream);
    for (size_t i = 0; i < requests_.size(); ++i) {
      rank_.phase(
          phases::push,
          [&] {
            requests_[i].packed = packed_;
            requests_[i].push = rank_.reserve();
            requests_[i].push_op = rank_.launch("aten::to", shape_of(i));
            if (update_ > 0) update(i);
          },
          request(i));
    }
    for (const ServerRequests& sent : requests_) {
      rank_.wait({sent.kernels.empty() ? sent.push : sent.kernels.back().id},
                 reasons::stream);
    }
  }

  void update(size_t server) {
    Json args = request(server);
    args[keys::version] = kRead + 1;
    const int64_t bytes = ranges_[server].size() * item_;
    const auto fill = [&] {
      for (int i = 1; i < update_; ++i)
        moves_memory(server, "aten::add_", "add", 3 * bytes);
      if (update_ > 1) moves_memory(server, "aten::div_", "scale", 2 * bytes);
      repeat_update(server);
    };
    rank_.phase(phases::optimizer, fill, std::move(args));
  }

  void moves_memory(size_t server, const char* op, const char* name, int64_t bytes) {
    const int64_t id = rank_.reserve();
    requests_[server].kernels.push_back(
        {rank_.launch(op, {{keys::bytes, bytes}}), id, name, bytes,
         std::max<int64_t>(1, rank_.costs().time_of(phases::optimizer, name, bytes)),
         nullptr});
  }

  /// The recorded update of all keys, for those of a server.
  void repeat_update(size_t server) {
    const Event& optimizer = find_phase(recorded_, phases::optimizer);
    const double share = static_cast<double>(ranges_[server].size()) /
                         static_cast<double>(std::max<int64_t>(1, keys_));
    for (const Event& op : recorded_.events) {
      if (!op.is(categories::op) || !is_inside(op, optimizer)) continue;
      for (const Event& task : recorded_.events) {
        if (!task.is(categories::kernel) || task.op != op.id) continue;
        const int64_t bytes = std::llround(share * number_arg(task.args, keys::bytes));
        const int64_t id = rank_.reserve();
        requests_[server].kernels.push_back(
            {rank_.launch(op.name.str().c_str(), {{keys::bytes, bytes}}), id, "", bytes,
             std::max<int64_t>(
                 1, std::llround(share * static_cast<double>(kernel_facts(task).cpu))),
             &task});
      }
    }
  }

  /// The first kernel of the step waits for the batch, as the first one recorded did.
  void unpack_first(std::vector<Event>& events) const {
    Event *unpacks = nullptr, *next = nullptr;
    for (Event& event : events) {
      if (event.id == unpacks_) unpacks = &event;
      const bool recorded = event.id < first_id_;
      if (event.is(categories::kernel) && recorded && next == nullptr) next = &event;
    }
    if (unpacks == nullptr || next == nullptr) return;
    for (const int64_t id : next->deps) unpacks->deps.push_back(id);
    next->deps.clear();
  }

  /// Who waited for the update's kernels waits for the device's last kernel instead.
  void wait_for_packing(std::vector<Event>& events) const {
    std::unordered_set<int64_t> waited;
    for (const Event& event : recorded_.events) {
      if (!event.waits_for.empty()) waited.insert(event.id);
    }
    for (Event& event : events) {
      if (event.waits_for.empty() && waited.contains(event.id)) {
        event.waits_for = {packed_};
      }
    }
  }

  const RecordedStep& recorded_;
  const RecordedStep step_;
  RankProgram rank_;
  const int64_t first_id_ = rank_.ids();  ///< of what is added
  const std::vector<plan::KeyRange>& ranges_;
  const int update_;
  std::vector<ServerRequests> requests_;
  int64_t keys_ = 0, item_ = 0, unpacks_ = kNone, packed_ = kNone;
};

}  // namespace

WorkerProgram worker_program(const RecordedStep& step,
                             const std::vector<plan::KeyRange>& ranges, int update) {
  return Worker(step, ranges, update).run();
}

}  // namespace lockstep::tracer

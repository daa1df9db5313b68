#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <unordered_map>

#include "tracer/emulate/construct/construct.h"
#include "tracer/emulate/construct/recorded_batches.h"
#include "tracer/emulate/construct/repeat.h"
#include "tracer/emulate/construct/worker_program.h"
#include "tracer/format/facts.h"

namespace lockstep::tracer {
namespace {

constexpr int64_t kComputeOfServer = 0, kCopyOfServer = 1;  // streams

std::vector<plan::KeyRange> ranges_of(const RecordedStep& step, int servers) {
  int64_t keys = 0;
  for (const ModelTensor& tensor : step.parameters) keys += tensor.numel;
  if (servers < 1 || keys < servers) {
    throw std::runtime_error(fmt::format(
        "{} servers cannot share {} keys; fix: change --servers", servers, keys));
  }
  return plan::key_ranges(keys, servers);
}

/// The copies between workers and servers, and the kernels of the servers.
class ServerTasks {
 public:
  ServerTasks(const RecordedStep& step, const std::vector<plan::KeyRange>& ranges,
              const std::vector<const WorkerProgram*>& workers, Trace& trace)
      : step_(step), ranges_(ranges), workers_(workers), trace_(trace) {
    for (const WorkerProgram* worker : workers) ids_ = std::max(ids_, worker->ids);
    for (const Event& event : trace.events) {
      if (event.is(categories::op)) launched_.emplace(event.id, event.ts);
      if (event.is(categories::copy)) {
        int64_t& free = free_[lane_of(event)];
        free = std::max(free, event.end());
      }
    }
  }

  void add() {
    for (int server = 0; server < static_cast<int>(ranges_.size()); ++server) {
      for (int worker = 0; worker < count(); ++worker) pull(server, worker);
      for (int worker = 0; worker < count(); ++worker) push(server, worker);
      update(server);
    }
  }

 private:
  int count() const { return static_cast<int>(workers_.size()); }
  int64_t id(int64_t own, int worker) const { return own + worker * ids_; }
  const ServerRequests& requests(int server, int worker) const {
    return workers_[worker]->of_server[server];
  }

  Event& task(const char* cat, int device, int64_t stream, int64_t op) {
    Event& task = trace_.events.emplace_back();
    task.cat = cat;
    task.pid = 101 * int64_t{device} + 1;
    task.tid = stream;
    task.op = op;
    task.step = step_.number;
    int64_t& free = free_[lane_of(task)];
    task.ts = free = std::max(free, launched_.at(op)) + 1;
    task.dur = 1;  // computed by emulate()
    task.args =
        Json{{keys::rank, device}, {keys::device, device}, {keys::stream, stream}};
    return task;
  }

  Event& copy(const char* why, const char* tensor, int src, int dst, int server,
              int64_t op) {
    Event& copy = task(categories::copy, dst, kCopyOfServer, op);
    const ModelTensor& any = step_.parameters[0];
    const int64_t keys = ranges_[server].size();
    copy.name = why;
    copy.args[keys::src] = src;
    copy.args[keys::dst] = dst;
    copy.args[keys::bytes] = keys * (any.bytes / any.numel);
    copy.args[keys::why] = why;
    copy.args[keys::tensor] = tensor;
    copy.args[keys::dtype] = any.dtype;
    copy.args[keys::phase] = why;
    copy.args[keys::shape] = Json::array({keys});
    return copy;
  }

  /// A server's next task waits until its weights have been read, even another pull.
  void pull(int server, int worker) {
    const ServerRequests& sent = requests(server, worker);
    Event& pulled = copy(reasons::pull, "weights", count() + server, worker, server,
                         id(sent.pull_op, worker));
    pulled.id = id(sent.pull, worker);
    for (int before = 0; before < worker; ++before) {
      pulled.deps.push_back(id(requests(server, before).pull, before));
    }
  }

  void push(int server, int worker) {
    const ServerRequests& sent = requests(server, worker);
    Event& pushed = copy(reasons::push, "gradients", worker, count() + server, server,
                         id(sent.push_op, worker));
    pushed.id = id(sent.push, worker);
    pushed.deps = {id(sent.packed, worker)};
  }

  void update(int server) {
    const int last = count() - 1;
    IdList deps;
    for (int worker = 0; worker < count(); ++worker) {
      deps.push_back(id(requests(server, worker).pull, worker));
      deps.push_back(id(requests(server, worker).push, worker));
    }
    for (const ServerKernel& kernel : requests(server, last).kernels) {
      Event& added = task(categories::kernel, count() + server, kComputeOfServer,
                          id(kernel.op, last));
      if (kernel.recorded != nullptr) {
        added.name = kernel.recorded->name;
        if (kernel.recorded->args.contains(keys::impl)) {
          added.args[keys::impl] = text_arg(kernel.recorded->args, keys::impl);
        }
      } else {
        added.name = kernel.name;
      }
      added.id = id(kernel.id, last);
      added.dur = kernel.time;
      added.deps = std::exchange(deps, {});
      added.args[keys::phase] = phases::optimizer;
      added.args[keys::bytes] = kernel.bytes;
      added.args[keys::cpu_us] = static_cast<double>(kernel.time) / 1e3;
      free_[lane_of(added)] = added.end();
    }
  }

  const RecordedStep& step_;
  const std::vector<plan::KeyRange>& ranges_;
  const std::vector<const WorkerProgram*>& workers_;
  Trace& trace_;
  int64_t ids_ = 0;
  std::unordered_map<int64_t, int64_t> launched_;  ///< when, by op
  LaneMap<int64_t> free_;
};

RecordedStep step_of_worker(const Trace& trace, const ConstructedProgram& program) {
  if (program.batch == 0) return recorded_step(trace);
  if (program.batch % program.devices != 0) {
    throw std::runtime_error(fmt::format(
        "a batch of {} cannot be shared equally by {} workers; fix: choose a multiple "
        "of {}",
        program.batch, program.devices, program.devices));
  }
  return step_with_batch(trace, program.further, program.batch / program.devices);
}

}  // namespace

Trace construct_ps(const Trace& trace, const ConstructedProgram& program) {
  require_device_count(program.devices);
  require_device_count(program.devices + program.servers);
  const RecordedStep step = step_of_worker(trace, program);
  const auto ranges = ranges_of(step, program.servers);
  const WorkerProgram other = worker_program(step, ranges, 0),
                      last = worker_program(step, ranges, program.devices);
  std::vector<const WorkerProgram*> workers(static_cast<size_t>(program.devices),
                                            &other);
  workers.back() = &last;
  std::vector<ProgramOfRank> programs;
  for (const WorkerProgram* worker : workers) {
    programs.push_back({&worker->events, worker->ids});
  }
  Trace result = repeat_programs(trace, step, programs);
  ServerTasks(step, ranges, workers, result).add();
  for (Event& event : result.events) {
    if (!event.is(categories::phase)) continue;
    if (event.args.contains(keys::worker)) {
      event.args[keys::worker] = int_arg(event.args, keys::rank);
    }
    if (event.name != names::step) continue;
    event.args[keys::servers] = program.servers;
    event.args[keys::consistency] = "sync";
  }
  for (int server = 0; server < program.servers; ++server) {
    name_device_lanes(trace, step, program.devices + server, result.events);
  }
  sort_events(result.events);
  describe_devices(result.lockstep, program.devices + program.servers,
                   Ranks::one_per_device);
  result.lockstep[top::mode] = "ps";
  Json& facts = result.lockstep[top::constructed] =
      constructed_facts(trace, program, step.batch * program.devices);
  facts["servers"] = program.servers;
  return result;
}

}  // namespace lockstep::tracer

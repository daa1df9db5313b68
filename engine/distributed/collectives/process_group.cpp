#include "engine/distributed/collectives/process_group.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "engine/distributed/collectives/collective_trace.h"
#include "engine/ops/op_call.h"
#include "engine/ops/ops.h"
#include "engine/runtime/device_context.h"

namespace lockstep::distributed {
namespace {

Buffer buffer_of(const Tensor& tensor) {
  return {tensor.view().data, tensor.numel(), tensor.dtype(), tensor.device()};
}

void check(const Tensors& tensors, const char* collective) {
  for (const Tensor& tensor : tensors) {
    if (tensor.device().is_host()) {
      throw std::runtime_error(
          fmt::format("{} requires tensors on a device", collective));
    }
    if (!tensor.is_plain()) {
      throw std::runtime_error(
          fmt::format("{}: Tensors must be contiguous", collective));
    }
  }
}

void check_parts(const Tensor& whole, const Tensor& part, int size,
                 const char* collective) {
  if (whole.numel() == part.numel() * size && whole.dtype() == part.dtype()) return;
  throw std::runtime_error(
      fmt::format("{}: {} elements for {} ranks with {} elements each", collective,
                  whole.numel(), size, part.numel()));
}

}  // namespace

void Work::wait() const { runtime::context(device_).compute().wait(done_); }

void Work::synchronize() const {
  runtime::host_wait(done_, "stream");
  runtime::context(device_).rethrow();
}

ProcessGroup::ProcessGroup(std::unique_ptr<Communicator> communicator, std::string name)
    : name_(std::move(name)) {
  shared_->communicator = std::move(communicator);
}

Work ProcessGroup::enqueue(const char* collective, const char* op_name,
                           const Tensors& tensors, CollectiveLabel label,
                           const Site& site, Run run) {
  check(tensors, collective);
  runtime::DeviceContext& device = runtime::context(tensors[0].device());
  const ops::OpEvent op(op_name, tensors, site);

  Collective call;
  call.name = collective;
  call.why = label.why ? label.why : collective;
  call.tensor = tracer::intern(label.tensor);
  call.seq = label.seq >= 0 ? label.seq : next_seq_++;
  call.bytes = tensors[0].nbytes();
  call.bucket = label.bucket;
  call.stage = label.stage;
  call.micro_batch = label.micro_batch;

  runtime::Task task;
  task.waits = std::move(label.after);
  if (!label.fresh) task.waits.push_back(device.compute().record_event());
  describe_collective(task, call, label, *this, device.device(), tensors[0].dtype());
  for (const Tensor& tensor : tensors) tensor.storage()->record_stream(device.comm());
  task.run = [shared = shared_, call, run = std::move(run)] {
    {
      std::lock_guard lock(shared->mutex);
      shared->last_call = {call.seq, str(call)};
    }
    run(*shared->communicator, call);
  };
  return {device.comm().enqueue(std::move(task)), tensors[0].device()};
}

std::pair<int64_t, std::string> ProcessGroup::last_call() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->last_call;
}

Work ProcessGroup::all_reduce(const Tensor& tensor, ReduceOp op, CollectiveLabel label,
                              Site site) {
  return enqueue(
      "all_reduce", "c10d::allreduce_", {tensor}, std::move(label), site,
      [data = buffer_of(tensor), op](Communicator& c, const Collective& call) {
        c.all_reduce(data, op, call);
      });
}

Work ProcessGroup::broadcast(const Tensor& tensor, int root, CollectiveLabel label,
                             Site site) {
  return enqueue(
      "broadcast", "c10d::broadcast_", {tensor}, std::move(label), site,
      [data = buffer_of(tensor), root](Communicator& c, const Collective& call) {
        c.broadcast(data, root, call);
      });
}

Work ProcessGroup::reduce(const Tensor& tensor, int root, ReduceOp op,
                          CollectiveLabel label, Site site) {
  return enqueue(
      "reduce", "c10d::reduce_", {tensor}, std::move(label), site,
      [data = buffer_of(tensor), root, op](Communicator& c, const Collective& call) {
        c.reduce(data, root, op, call);
      });
}

Work ProcessGroup::all_gather(const Tensor& output, const Tensor& input,
                              CollectiveLabel label, Site site) {
  check_parts(output, input, size(), "all_gather");
  return enqueue(
      "all_gather", "c10d::_allgather_base_", {output, input}, std::move(label), site,
      [in = buffer_of(input), out = buffer_of(output)](
          Communicator& c, const Collective& call) { c.all_gather(in, out, call); });
}

Work ProcessGroup::reduce_scatter(const Tensor& output, const Tensor& input,
                                  ReduceOp op, CollectiveLabel label, Site site) {
  check_parts(input, output, size(), "reduce_scatter");
  return enqueue("reduce_scatter", "c10d::_reduce_scatter_base_", {input, output},
                 std::move(label), site,
                 [in = buffer_of(input), out = buffer_of(output), op](
                     Communicator& c, const Collective& call) {
                   c.reduce_scatter(in, out, op, call);
                 });
}

Work ProcessGroup::send(const Tensor& tensor, int to, CollectiveLabel label,
                        Site site) {
  return enqueue(
      "send", "c10d::send", {tensor}, numbered(std::move(label), sent_[to]), site,
      [data = buffer_of(tensor), to](Communicator& c, const Collective& call) {
        c.send(data, to, call);
      });
}

Work ProcessGroup::recv(const Tensor& tensor, int from, CollectiveLabel label,
                        Site site) {
  return enqueue(
      "recv", "c10d::recv_", {tensor}, numbered(std::move(label), received_[from]),
      site, [data = buffer_of(tensor), from](Communicator& c, const Collective& call) {
        c.recv(data, from, call);
      });
}

CollectiveLabel ProcessGroup::numbered(CollectiveLabel label, int64_t& pair) {
  if (label.seq < 0) label.seq = pair++;
  return label;
}

int64_t ProcessGroup::reserve(int64_t count) {
  return std::exchange(next_seq_, next_seq_ + count);
}

void ProcessGroup::barrier(Device device) {
  const Tensor one = ops::full_like(Tensor::empty({1}, device), 1);
  all_reduce(one, ReduceOp::sum, {"barrier"}).synchronize();
}

}  // namespace lockstep::distributed

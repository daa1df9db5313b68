#include "engine/ops/kernel_call.h"

#include <stdexcept>

#include "engine/runtime/pace.h"
#include "tracer/format/keys.h"
#include "tracer/record/recorder.h"

namespace lockstep::ops {
namespace keys = tracer::keys;
namespace {

int64_t bytes_touched(const KernelCall& call) {
  int64_t bytes = 0;
  for (const auto* views : {&call.in, &call.out}) {
    for (const View& view : *views) bytes += static_cast<int64_t>(view.bytes());
  }
  return bytes;
}

/// Returns the nominal number of floating-point operations of a convolution or linear
/// layer (a multiply-add counts as two; padding counts as data); 0 for everything else.
int64_t flops_of(const PlanRequest& r) {
  switch (r.code) {
    case OpCode::conv2d:  // each output requires C·kH·kW products
      return 2 * r.out[0].sizes.numel() * r.in[1].sizes.numel() / r.in[1].sizes[0];
    case OpCode::conv2d_backward_data:
      return 2 * r.in[0].sizes.numel() * r.in[1].sizes.numel() / r.in[1].sizes[0];
    case OpCode::conv2d_backward_weight:
      return 2 * r.in[1].sizes.numel() * r.out[0].sizes.numel() / r.out[0].sizes[0];
    case OpCode::linear:
      return 2 * r.in[0].sizes[0] * r.in[1].sizes.numel();
    case OpCode::linear_backward_data:
      return 2 * r.in[0].sizes[0] * r.in[1].sizes.numel();
    case OpCode::linear_backward_weight:
      return 2 * r.in[0].sizes[0] * r.out[0].sizes.numel();
    default:
      return 0;
  }
}

/// Returns the number of samples that a convolution or linear layer receives; 0 for
/// everything else.
int64_t samples_of(const PlanRequest& r) {
  switch (r.code) {
    case OpCode::conv2d:
    case OpCode::conv2d_backward_data:
    case OpCode::conv2d_backward_weight:
    case OpCode::linear:
    case OpCode::linear_backward_data:
    case OpCode::linear_backward_weight:
      return r.in[0].sizes[0];
    default:
      return 0;
  }
}

/// Makes the task take as long as on the device that is emulated. It holds no cores.
void emulate(runtime::Task& task, Device device, const KernelCall& call) {
  const int64_t length = runtime::pace().kernel(
      {device, tracer::thread_context().phase, flops_of(call.request),
       bytes_touched(call), samples_of(call.request)});
  task.takes_cores = false;
  task.run = [length] { runtime::task_span().end += length; };
}

/// Fills in the trace record of the kernel.
void describe_record(runtime::Task& task, const KernelCall& call) {
  task.record.cat = tracer::categories::kernel;
  task.record.name = name(call.request.code);
  if (!tracer::recording()) return;
  task.record.id = tracer::next_id();
  task.record.op = tracer::innermost_event();
  task.record.step = tracer::current_step();
  const int64_t flops = flops_of(call.request), bytes = bytes_touched(call);
  task.args.emplace_back(keys::impl, call.plan->impl.c_str());
  if (const char* phase = tracer::thread_context().phase) {
    task.args.emplace_back(keys::phase, phase);
  }
  if (flops > 0) task.args.emplace_back(keys::flops, flops);
  task.args.emplace_back(keys::bytes, bytes);
  if (tracer::HostEvent* op = tracer::innermost_host_event()) {
    if (flops > 0) op->add("flops", flops);
    op->add("bytes", bytes);
  }
}

}  // namespace

Device common_device(const Tensors& inputs) {
  const Tensor* first = nullptr;
  for (const Tensor& input : inputs) {
    if (!input.defined()) continue;
    if (first == nullptr) first = &input;
    if (input.device() == first->device()) continue;
    throw std::runtime_error(
        "Expected all tensors to be on the same device, but found at least two "
        "devices, " +
        first->device().str() + " and " + input.device().str() + "!");
  }
  if (first == nullptr) throw std::runtime_error("an operation requires an input");
  if (first->device().is_host()) {
    throw std::runtime_error(
        "operations run on devices, not on the host; fix: copy the tensor to a device "
        "first, with ops::copy_to");
  }
  return first->device();
}

TensorSpec spec_or_absent(const Tensor& tensor) {
  return tensor.defined() ? tensor.spec() : TensorSpec{{}, DType::u8, nullptr};
}

std::shared_ptr<KernelCall> prepare(runtime::DeviceContext& device, OpCode code,
                                    const Tensors& in,
                                    const std::vector<TensorSpec>& out,
                                    const Attributes& attributes,
                                    const Scalars& scalars) {
  auto call = std::make_shared<KernelCall>();
  call->request = {code, {}, out, attributes, device.threads()};
  for (const Tensor& tensor : in) {
    call->request.in.push_back(spec_or_absent(tensor));
    call->in.push_back(tensor.defined() ? tensor.view() : View());
  }
  call->plan = device.backend().plan(call->request, device.device(), [&device] {
    // Not the comm stream: its collectives may wait for a rank that is draining, too.
    for (runtime::Stream* stream : {&device.compute(), &device.copy()}) {
      const runtime::EventPtr end = stream->record_event();
      runtime::check_not_captured(*end);
      end->wait();
    }
  });
  call->workspace = device.workspace(call->plan->workspace);
  call->scalars = scalars;
  return call;
}

Tensors allocate_outputs(runtime::DeviceContext& device, KernelCall& call) {
  const Plan& plan = *call.plan;
  Tensors results;
  for (size_t i = 0; i < call.request.out.size(); ++i) {
    TensorSpec spec = call.request.out[i];
    spec.layout = i < plan.layouts.size() ? plan.layouts[i] : nullptr;
    results.push_back(Tensor::empty(spec, device.device()));
  }
  for (const TensorSpec& spec : plan.extra) {
    results.push_back(Tensor::empty(spec, device.device()));
  }
  for (const Tensor& result : results) call.out.push_back(result.view());
  return results;
}

void launch(runtime::DeviceContext& device, std::shared_ptr<KernelCall> call) {
  runtime::Task task;
  task.takes_cores = true;
  describe_kernel(task, call);
  if (device.device().type == DeviceType::emulated) {
    emulate(task, device.device(), *call);
  }
  const bool blocking = runtime::options().launch_blocking;
  if (!blocking && device.backend().can_fuse_relu(call->request.code)) {
    device.compute().enqueue_amendable(std::move(task));
  } else {
    auto done = device.compute().enqueue(std::move(task));
    if (blocking) {
      runtime::host_wait(done, "stream");
      device.rethrow();
    }
  }
}

void describe_kernel(runtime::Task& task, const std::shared_ptr<KernelCall>& call) {
  task.writes = call->out.empty() ? nullptr : call->out[0].data;
  task.call = call;
  task.run = [call = call.get()] {
    call->plan->run({call->in, call->out, call->workspace, call->scalars});
  };
  describe_record(task, *call);
}

void update_record(runtime::Task& task, const KernelCall& call) {
  for (tracer::Arg& arg : task.args) {
    if (arg.key == std::string_view(keys::impl)) arg.text = call.plan->impl.c_str();
    if (arg.key == std::string_view(keys::bytes)) arg.integer = bytes_touched(call);
  }
}

}  // namespace lockstep::ops

#include "engine/ops/op_call.h"

#include <stdexcept>

#include "engine/runtime/device_context.h"
#include "engine/runtime/pace.h"
#include "tracer/format/keys.h"

namespace lockstep::ops {
namespace keys = tracer::keys;
namespace {

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

/// Fills in the trace record of the kernel. The innermost open event is the operation
/// that launches it.
void describe_kernel(runtime::Task& task, const KernelCall& call) {
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

std::function<void()> runner(const KernelCall* call) {
  return [call] {
    call->plan->run({call->in, call->out, call->workspace, call->scalars});
  };
}

/// Enqueues `call` on the compute stream.
void launch(runtime::DeviceContext& device, std::shared_ptr<KernelCall> call) {
  runtime::Task task;
  task.takes_cores = true;
  task.writes = call->out.empty() ? nullptr : call->out[0].data;
  task.call = call;
  describe_kernel(task, *call);
  task.run = runner(call.get());
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
  call->plan = device.backend().plan(call->request, [&device] {
    // Not the comm stream: its collectives may wait for a rank that is draining, too.
    device.compute().record_event()->wait();
    device.copy().record_event()->wait();
  });
  call->workspace = device.workspace(call->plan->workspace);
  call->scalars = scalars;
  return call;
}

/// Allocates the outputs, then the plan's opaque ones.
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

}  // namespace

OpEvent::OpEvent(const char* name, const Tensors& inputs) : event_("op", name) {
  if (!inputs.empty()) describe_shapes(event_, inputs);
}

OpEvent::OpEvent(const char* name, const Tensors& inputs,
                 const std::source_location& site)
    : OpEvent(name, inputs) {
  site_.emplace(site);
  event_.arg({keys::file, site.file_name()});
  event_.arg({keys::line, static_cast<int64_t>(site.line())});
}

OpCall::OpCall(const char* name, const Tensors& inputs,
               const std::source_location& site)
    : OpEvent(name, inputs, site) {
  common_device(inputs);
}

void describe_shapes(tracer::HostEvent& event, const Tensors& tensors) {
  if (!event.on()) return;
  std::vector<int64_t> encoded;
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined()) continue;
    encoded.push_back(tensor.dim());
    encoded.insert(encoded.end(), tensor.sizes().begin(), tensor.sizes().end());
  }
  event.arg(tracer::Arg::shapes(keys::shapes, encoded));
}

Tensors compute(OpCode code, const Tensors& in, const std::vector<TensorSpec>& out,
                const Attributes& attributes, const Scalars& scalars) {
  runtime::DeviceContext& device = runtime::context(common_device(in));
  auto call = prepare(device, code, in, out, attributes, scalars);
  Tensors results = allocate_outputs(device, *call);
  launch(device, std::move(call));
  return results;
}

void compute_into(OpCode code, const Tensors& in, const Tensors& out,
                  const Attributes& attributes, const Scalars& scalars) {
  runtime::DeviceContext& device =
      runtime::context(common_device(out.empty() ? in : out));
  std::vector<TensorSpec> specs;
  for (const Tensor& tensor : out) specs.push_back(tensor.spec());
  auto call = prepare(device, code, in, specs, attributes, scalars);
  for (const Tensor& tensor : out) call->out.push_back(tensor.view());
  launch(device, std::move(call));
}

Tensor compute_one(OpCode code, const Tensors& in, const Shape& out,
                   const Attributes& attributes, const Scalars& scalars) {
  return compute(code, in, {{out, in[0].dtype(), nullptr}}, attributes, scalars)[0];
}

std::shared_ptr<KernelCall> held_call(const Tensor& output) {
  runtime::Stream& stream = runtime::context(output.device()).compute();
  return std::static_pointer_cast<KernelCall>(stream.held(output.view().data));
}

namespace {

/// Updates the trace record of a held-back call that has been amended.
void update_args(runtime::Task& task, const KernelCall& call) {
  for (tracer::Arg& arg : task.args) {
    if (arg.key == std::string_view(keys::impl)) arg.text = call.plan->impl.c_str();
    if (arg.key == std::string_view(keys::bytes)) arg.integer = bytes_touched(call);
  }
}

bool overlap(const View& a, const View& b) {
  const char *from = a.as<char>(), *to = b.as<char>();
  return from < to + b.bytes() && to < from + a.bytes();
}

/// Replaces the request of `call`, which writes `x`; `extend` appends the arguments.
/// Returns false and changes nothing if the call is no longer held back.
bool amend(const std::shared_ptr<KernelCall>& call, const Tensor& x,
           const PlanRequest& request, const PlanPtr& plan,
           const std::function<void()>& extend) {
  runtime::DeviceContext& device = runtime::context(x.device());
  void* workspace = device.workspace(plan->workspace);
  return device.compute().amend(x.view().data, [&](runtime::Task& task) {
    call->plan = plan;
    call->request = request;
    call->workspace = workspace;
    extend();
    update_args(task, *call);
  });
}

}  // namespace

bool fuse_relu(const Tensor& x, bool& covers_backward) {
  auto call = held_call(x);
  Backend& backend = runtime::context(x.device()).backend();
  if (!call || call->request.attributes.relu ||
      !backend.can_fuse_relu(call->request.code)) {
    return false;
  }
  PlanRequest request = call->request;
  request.attributes.relu = true;
  const PlanPtr plan = backend.plan(request);
  const bool keep_mask = static_cast<bool>(call->absorb_relu);
  Tensor mask;
  if (keep_mask && !plan->extra.empty()) {
    mask = Tensor::empty(plan->extra[0], x.device());
    // Without gradients, the kernel's input may be free and reused by now.
    for (const View& read : call->in) {
      if (overlap(read, mask.view())) return false;
    }
  }
  const auto add_mask = [&] {
    if (mask.defined()) call->out.push_back(mask.view());
  };
  if (!amend(call, x, request, plan, add_mask)) return false;
  covers_backward = mask.defined();
  if (covers_backward) call->absorb_relu(mask);
  return true;
}

bool fuse_relu_backward(const Tensor& dy, const Tensor& y) {
  auto call = held_call(dy);
  Backend& backend = runtime::context(dy.device()).backend();
  if (!call || call->request.attributes.relu || call->request.in.size() != 2 ||
      !backend.can_fuse_relu_backward(call->request.code)) {
    return false;
  }
  PlanRequest request = call->request;
  request.in.push_back(y.spec());
  return amend(call, dy, request, backend.plan(request),
               [&] { call->in.push_back(y.view()); });
}

bool fuse_add(const Tensor& a, const Tensor& b) {
  constexpr size_t kSummand = 6;  // of the operations' inputs (backend.h)
  auto call = held_call(a);
  Backend& backend = runtime::context(a.device()).backend();
  if (!call || call->request.attributes.relu || call->in.size() > kSummand ||
      !backend.can_fuse_add(call->request.code) || b.spec() != a.spec() ||
      b.view().data == a.view().data) {
    return false;
  }
  PlanRequest request = call->request;
  request.in.resize(kSummand, spec_or_absent(Tensor()));
  request.in.push_back(b.spec());
  return amend(call, a, request, backend.plan(request), [&] {
    call->in.resize(kSummand);
    call->in.push_back(b.view());
    call->absorb_relu = nullptr;  // a ReLU that follows is one of the sum
  });
}

namespace {

/// Returns true if `call` may read the views of `sum` although memory has been reused
/// since that call: a kernel may write its first output over what it has read.
bool may_read_later(const KernelCall& call, const KernelCall& sum) {
  for (const View& read : sum.in) {
    for (const View& written : call.out) {
      const bool same = &written == &call.out[0] && read.data == written.data;
      if (!same && overlap(read, written)) return false;
    }
  }
  return true;
}

/// Makes `call`, which is not enqueued yet, perform the held-back addition that writes
/// its input 1, and take its place in the stream. Returns false and changes nothing if
/// it cannot.
bool take_place_of_sum(runtime::DeviceContext& device,
                       const std::shared_ptr<KernelCall>& call, const Tensors& in,
                       const Tensors& results) {
  const Tensor& dy = in[1];
  const auto sum = held_call(dy);
  if (!sum || sum->request.code != OpCode::add || sum->request.attributes.relu ||
      !device.backend().can_fuse_sum(call->request.code) ||
      dy.spec() != results[0].spec() || !may_read_later(*call, *sum)) {
    return false;
  }
  PlanRequest request = call->request;
  for (const TensorSpec& summand : sum->request.in) {
    if (summand != dy.spec()) return false;
    request.in.push_back(summand);
  }
  const PlanPtr plan = device.backend().plan(request);
  void* workspace = device.workspace(plan->workspace);
  return device.compute().replace_held(dy.view().data, [&](runtime::Task& task) {
    call->plan = plan;
    call->request = request;
    call->workspace = workspace;
    call->in.insert(call->in.end(), sum->in.begin(), sum->in.end());
    task.run = runner(call.get());
    task.writes = call->out[0].data;
    task.call = call;
    const int64_t id = task.record.id;
    task.args.clear();
    describe_kernel(task, *call);
    task.record.id = id;  // what waits for the addition waits for this kernel
  });
}

}  // namespace

Tensors compute_after_sum(OpCode code, const Tensors& in,
                          const std::vector<TensorSpec>& out,
                          const Attributes& attributes) {
  runtime::DeviceContext& device = runtime::context(common_device(in));
  auto call = prepare(device, code, in, out, attributes, {});
  Tensors results = allocate_outputs(device, *call);
  if (!take_place_of_sum(device, call, in, results)) launch(device, std::move(call));
  return results;
}

}  // namespace lockstep::ops

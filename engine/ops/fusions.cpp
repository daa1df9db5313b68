#include "engine/ops/fusions.h"

#include <algorithm>
#include <cstdint>

namespace lockstep::ops {

std::shared_ptr<KernelCall> held_call(const Tensor& output) {
  runtime::Stream& stream = runtime::context(output.device()).compute();
  auto call = std::static_pointer_cast<KernelCall>(stream.held(output.view().data));
  const bool whole = call && call->request.out[0].sizes.numel() == output.numel();
  return whole ? call : nullptr;
}

namespace {

/// Returns true if the view shares memory with `bytes` bytes at `data`.
bool overlaps(const View& view, const void* data, size_t bytes) {
  const auto a = reinterpret_cast<uintptr_t>(view.data);
  const auto b = reinterpret_cast<uintptr_t>(data);
  return a < b + bytes && b < a + view.bytes();
}

/// Returns true if one of the views does.
bool any_overlaps(const std::vector<View>& views, const void* data, size_t bytes) {
  return std::any_of(views.begin(), views.end(),
                     [&](const View& view) { return overlaps(view, data, bytes); });
}

/// Replaces the request of `call`, which writes `x`; `extend` appends the arguments.
/// Returns false and changes nothing if the call is no longer held back, or if a larger
/// workspace would lie on what it reads: without gradients, that memory is free by now.
bool amend(const std::shared_ptr<KernelCall>& call, const Tensor& x,
           const PlanRequest& request, const PlanPtr& plan,
           const std::function<void()>& extend) {
  runtime::DeviceContext& device = runtime::context(x.device());
  void* workspace = device.workspace(plan->workspace);
  if (any_overlaps(call->in, workspace, plan->workspace)) return false;
  return device.compute().amend(x.view().data, [&](runtime::Task& task) {
    call->plan = plan;
    call->request = request;
    call->workspace = workspace;
    extend();
    update_record(task, *call);
  });
}

}  // namespace

bool fuse_relu(const Tensor& x, bool& covers_backward) {
  auto call = held_call(x);
  Backend& backend = runtime::context(x.device()).backend();
  if (!call || call->request.attributes.relu) return false;
  PlanRequest request = call->request;
  request.attributes.relu = true;
  const PlanPtr plan = backend.plan(request, x.device());
  const bool keep_mask = static_cast<bool>(call->absorb_relu);
  Tensor mask;
  if (keep_mask && !plan->extra.empty()) {
    mask = Tensor::empty(plan->extra[0], x.device());
    // Without gradients, the kernel's input and statistics may be free by now.
    const View view = mask.view();
    if (any_overlaps(call->in, view.data, view.bytes()) ||
        any_overlaps(call->out, view.data, view.bytes())) {
      return false;
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
  return amend(call, dy, request, backend.plan(request, dy.device()),
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
  return amend(call, a, request, backend.plan(request, a.device()), [&] {
    call->in.resize(kSummand);
    call->in.push_back(b.view());
  });
}

namespace {

/// Returns true if `output` may not lie on what `sum` reads. An output of the size of
/// what is summed may lie exactly on it: kernels read an element before they write it.
bool is_in_the_way(const View& output, const KernelCall& sum) {
  return std::any_of(sum.in.begin(), sum.in.end(), [&](const View& read) {
    const bool exact = read.data == output.data && read.bytes() == output.bytes();
    return !exact && overlaps(read, output.data, output.bytes());
  });
}

/// What `sum` reads may be free by now, and its memory reused for the outputs of
/// `call`: gives those other memory.
void keep_apart(Tensors& outputs, KernelCall& call, const KernelCall& sum) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    Tensors refused;
    while (is_in_the_way(outputs[i].view(), sum)) {
      refused.push_back(outputs[i]);
      outputs[i] = Tensor::empty(outputs[i].spec(), outputs[i].device());
    }
    call.out[i] = outputs[i].view();
  }
}

/// Makes `call`, which is not enqueued yet, perform the held-back addition that writes
/// its input 1, and take its place in the stream. Returns false if it cannot; `call`
/// can then be launched.
bool take_place_of_sum(runtime::DeviceContext& device,
                       const std::shared_ptr<KernelCall>& call, const Tensors& in,
                       Tensors& results) {
  const Tensor& dy = in[1];
  const auto sum = held_call(dy);
  if (!sum || sum->request.code != OpCode::add || sum->request.attributes.relu ||
      !device.backend().can_fuse_sum(call->request.code) ||
      dy.spec() != results[0].spec()) {
    return false;
  }
  PlanRequest request = call->request;
  for (const TensorSpec& summand : sum->request.in) {
    if (summand != dy.spec()) return false;
    request.in.push_back(summand);
  }
  keep_apart(results, *call, *sum);
  const PlanPtr plan = device.backend().plan(request, device.device());
  void* workspace = device.workspace(plan->workspace);
  if (any_overlaps(sum->in, workspace, plan->workspace)) return false;
  return device.compute().replace_held(dy.view().data, [&](runtime::Task& task) {
    call->plan = plan;
    call->request = request;
    call->workspace = workspace;
    call->in.insert(call->in.end(), sum->in.begin(), sum->in.end());
    const int64_t id = task.record.id;
    task.args.clear();
    describe_kernel(task, call);
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

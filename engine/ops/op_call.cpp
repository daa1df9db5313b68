#include "engine/ops/op_call.h"

#include "engine/ops/kernel_call.h"
#include "tracer/format/keys.h"

namespace lockstep::ops {
namespace keys = tracer::keys;

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

}  // namespace lockstep::ops

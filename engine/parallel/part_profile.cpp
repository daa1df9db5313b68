#include "engine/parallel/part_profile.h"

#include <algorithm>
#include <limits>

#include "engine/autograd/engine.h"
#include "engine/nn/init.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/parallel/stages.h"
#include "engine/runtime/device_context.h"
#include "tracer/record/recorder.h"

namespace lockstep::parallel {
namespace {

/// Returns a copy of the model with new weights; the thread's construction options stay
/// as they are.
nn::ModulePtr fresh_copy(const nn::Module& model) {
  const nn::ConstructionScope scope(nn::construction());
  nn::ModulePtr copy = model.make_like();
  copy->train();
  return copy;
}

/// Appends the smallest parts of `part`.
void append_smallest(nn::Part part, std::vector<nn::Part>& parts) {
  const auto own = part.module ? part.module->parts() : std::vector<nn::Part>();
  if (own.empty()) parts.push_back(part);
  for (nn::Part child : own) {
    child.name = part.name + "." + child.name;
    append_smallest(child, parts);
  }
}

/// Returns the time in which `enqueue` and the work that it enqueues are done.
template <typename Enqueue>
int64_t time_of(Device device, Enqueue enqueue) {
  const int64_t start = tracer::now_ns();
  enqueue();
  runtime::context(device).synchronize();
  return tracer::now_ns() - start;
}

/// Runs a part forward and back. `input` becomes its output.
PartProfile run_part(const nn::Part& part, Device device, bool is_first,
                     Tensor& input) {
  PartProfile profile{part.name};
  const auto gradient = std::make_shared<Tensor>();
  const Tensor x = is_first ? input.detach() : begin_tape(input, gradient);
  Tensor output;
  profile.forward_ns = time_of(device, [&] { output = part(x); });
  const Tensor output_grad = output.detach();  // any values take the same time
  profile.backward_ns = time_of(device, [&] {
    if (output.requires_grad()) autograd::backward(output, output_grad);
  });
  profile.output_bytes = output.nbytes();
  input = output_grad;
  return profile;
}

/// Replaces `input` by the part's output.
PartProfile measure(const nn::Part& part, Device device, bool is_first, int repetitions,
                    Tensor& input) {
  Tensor output = input;
  run_part(part, device, is_first, output);
  PartProfile shortest{part.name, std::numeric_limits<int64_t>::max(),
                       std::numeric_limits<int64_t>::max(), 0};
  for (int i = 0; i < repetitions; ++i) {
    output = input;
    const PartProfile run = run_part(part, device, is_first, output);
    shortest.forward_ns = std::min(shortest.forward_ns, run.forward_ns);
    shortest.backward_ns = std::min(shortest.backward_ns, run.backward_ns);
    shortest.output_bytes = run.output_bytes;
  }
  input = output;
  return shortest;
}

}  // namespace

std::vector<PartProfile> profile_parts(const nn::Module& model, Device device,
                                       const Tensor& images, int repetitions) {
  const uint64_t drawn = ops::dropout_calls(device);
  const nn::ModulePtr copy = fresh_copy(model);
  std::vector<nn::Part> parts;
  for (const nn::Part& part : copy->parts()) append_smallest(part, parts);
  std::vector<PartProfile> profiles;
  Tensor x = ops::copy_to(images, device, {"h2d", "images"});
  for (const nn::Part& part : parts) {
    if (part.module) part.module->to(device);
    profiles.push_back(measure(part, device, profiles.empty(), repetitions, x));
  }
  ops::set_dropout_calls(device, drawn);
  return profiles;
}

}  // namespace lockstep::parallel

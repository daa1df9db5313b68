// rejected by: messages
// because: each row is written once
//
// The misconception: an output must be on the device before its rows can be put in
// their place.

// [solution-gather]
std::vector<int64_t> rows;
parallel::Devices devices;
int64_t total = 0;
for (const Tensor& output : outputs) {
  rows.push_back(output.size(0));
  devices.push_back(output.device());
  total += output.size(0);
}
Shape sizes = outputs[0].sizes();
sizes[0] = total;
const Tensor joined = Tensor::empty({sizes, outputs[0].dtype(), nullptr}, to);
int64_t first = 0;
for (const Tensor& output : outputs) {
  const Tensor here = ops::copy_to(output.detach(), to, {"gather", "output"});
  ops::copy_into(here, joined.narrowed(first, output.size(0)), {"gather", "output"});
  first += output.size(0);
}
autograd::set_history(
    "GatherBackward", outputs, {joined}, tracer::innermost_event(),
    [=](Tensors grads) {
      const Tensor grad = ops::contiguous(grads[0]);
      Tensors pieces;
      int64_t first = 0;
      for (size_t i = 0; i < rows.size(); ++i) {
        pieces.push_back(ops::copy_to(grad.narrowed(first, rows[i]), devices[i],
                                      {"grad_scatter", "output"}));
        first += rows[i];
      }
      return pieces;
    });
return joined;
// [/solution-gather]

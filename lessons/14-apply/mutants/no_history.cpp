// rejected by: gradients
// because: without it backward ends here
//
// The misconception: the tape records copies by itself.

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
  ops::copy_into(output.detach(), joined.narrowed(first, output.size(0)),
                 {"gather", "output"});
  first += output.size(0);
}
return joined;
// [/solution-gather]

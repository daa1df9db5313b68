// rejected by: back
// because: copies are not on the tape
//
// The misconception: copies are on the tape.

// [solution-gather]
  Shape sizes = outputs[0].sizes();
  sizes[0] = 0;
  std::vector<int64_t> rows;
  Devices devices;
  for (const Tensor& output : outputs) {
    rows.push_back(output.size(0));
    devices.push_back(output.device());
    sizes[0] += output.size(0);
  }
  const Tensor joined = Tensor::empty({sizes, outputs[0].dtype(), nullptr}, classifier);
  int64_t first = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    ops::copy_into(outputs[i].detach(), joined.narrowed(first, rows[i]),
                   {"activation", "output"});
    first += rows[i];
  }
  return joined;
// [/solution-gather]

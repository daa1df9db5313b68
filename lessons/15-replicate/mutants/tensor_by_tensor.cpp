// rejected by: few_messages
// because: each group is one message
//
// The misconception: 62 small copies cost as much as four large ones.

// [solution-broadcast]
std::vector<int64_t> bytes;
for (const Tensor& tensor : tensors) bytes.push_back(tensor.nbytes());
std::vector<Tensors> result(devices.size());
result[0] = tensors;
for (size_t d = 1; d < devices.size(); ++d) {
  for (const Tensor& tensor : tensors) {
    result[d].push_back(ops::copy_to(tensor, devices[d], {"replicate", "group"}));
  }
}
return result;
// [/solution-broadcast]

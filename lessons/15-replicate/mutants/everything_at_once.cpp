// rejected by: few_messages
// because: each group is one message
//
// The misconception: one message is always better than several. It needs twice the
// model's memory, and nothing can be used before all has arrived.

// [solution-broadcast]
std::vector<int64_t> bytes;
for (const Tensor& tensor : tensors) bytes.push_back(tensor.nbytes());
std::vector<Tensors> result(devices.size());
result[0] = tensors;
if (tensors.empty()) return result;
const Tensor flat = pack(tensors);
for (size_t d = 1; d < devices.size(); ++d) {
  const Tensor arrived = ops::copy_to(flat, devices[d], {"replicate", "group"});
  result[d] = unpack(arrived, tensors);
}
return result;
// [/solution-broadcast]

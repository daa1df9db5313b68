// rejected by: few_messages
// because: straight to each device
//
// The misconception (a good idea elsewhere): each device sends on to the next. Here the
// last one waits for all before it, and the trace is not that of PyTorch.

// [solution-broadcast]
std::vector<int64_t> bytes;
for (const Tensor& tensor : tensors) bytes.push_back(tensor.nbytes());
std::vector<Tensors> result(devices.size());
result[0] = tensors;
for (const plan::Group& group : plan::coalesce_broadcast(bytes)) {
  Tensors members;
  for (size_t i : group) members.push_back(tensors[i]);
  Tensor flat = pack(members);
  for (size_t d = 1; d < devices.size(); ++d) {
    const Tensor arrived = ops::copy_to(flat, devices[d], {"replicate", "group"});
    flat = arrived;
    for (const Tensor& part : unpack(arrived, members)) result[d].push_back(part);
  }
}
return result;
// [/solution-broadcast]

// rejected by: everywhere
// because: the first device has the tensors
//
// The misconception: every device gets a copy, the first one too.

// [solution-broadcast]
std::vector<int64_t> bytes;
for (const Tensor& tensor : tensors) bytes.push_back(tensor.nbytes());
std::vector<Tensors> result(devices.size());
for (const plan::Group& group : plan::coalesce_broadcast(bytes)) {
  Tensors members;
  for (size_t i : group) members.push_back(tensors[i]);
  const Tensor flat = pack(members);
  for (size_t d = 0; d < devices.size(); ++d) {
    const Tensor arrived = ops::copy_to(flat, devices[d], {"replicate", "group"});
    for (const Tensor& part : unpack(arrived, members)) result[d].push_back(part);
  }
}
return result;
// [/solution-broadcast]

// rejected by: few_messages
// because: nothing is copied again
//
// The misconception: parts of a flat tensor are not tensors yet.

// [solution-broadcast]
std::vector<int64_t> bytes;
for (const Tensor& tensor : tensors) bytes.push_back(tensor.nbytes());
std::vector<Tensors> result(devices.size());
result[0] = tensors;
for (const plan::Group& group : plan::coalesce_broadcast(bytes)) {
  Tensors members;
  for (size_t i : group) members.push_back(tensors[i]);
  const Tensor flat = pack(members);
  for (size_t d = 1; d < devices.size(); ++d) {
    const Tensor arrived = ops::copy_to(flat, devices[d], {"replicate", "group"});
    for (const Tensor& part : unpack(arrived, members)) {
      result[d].push_back(ops::scale(part, 1));
    }
  }
}
return result;
// [/solution-broadcast]

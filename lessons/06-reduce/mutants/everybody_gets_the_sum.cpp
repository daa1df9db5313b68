// rejected by: bytes_once
// because: created from device 0
//
// The misconception: after backward all replicas must have the same gradients (that is
// DDP's all-reduce).

// [solution-reduce]
wait_for_replicas(gradients, to);
std::vector<int64_t> bytes;
for (const Tensor& gradient : gradients[0]) bytes.push_back(gradient.nbytes());
Tensors sums;
size_t first = 0;
for (size_t count : group_sizes(bytes, kLimit)) {
  Tensor total = pack(gradients[0], first, count);
  for (size_t d = 1; d < gradients.size(); ++d) {
    const Tensor flat = pack(gradients[d], first, count);
    ops::add_(total, ops::copy_to(flat, to, {"reduce", "group"}));
  }
  for (size_t d = 1; d < gradients.size(); ++d) {
    ops::copy_to(total, gradients[d][0].device(), {"broadcast", "group"});
  }
  unpack(total, gradients[0], first, count, sums);
  first += count;
}
return sums;
// [/solution-reduce]

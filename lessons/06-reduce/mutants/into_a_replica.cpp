// rejected by: sums_on_device_0
// because: live on device
//
// The misconception: any device may hold the sums; the last one has least to do.

// [solution-reduce]
wait_for_replicas(gradients, to);
std::vector<int64_t> bytes;
for (const Tensor& gradient : gradients[0]) bytes.push_back(gradient.nbytes());
const Tensors& last = gradients.back();
Tensors sums;
size_t first = 0;
for (size_t count : group_sizes(bytes, kLimit)) {
  Tensor total = pack(last, first, count);
  for (size_t d = 0; d + 1 < gradients.size(); ++d) {
    const Tensor flat = pack(gradients[d], first, count);
    ops::add_(total, ops::copy_to(flat, last[0].device(), {"reduce", "group"}));
  }
  unpack(total, last, first, count, sums);
  first += count;
}
return sums;
// [/solution-reduce]

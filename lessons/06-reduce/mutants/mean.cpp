// rejected by: sums_on_device_0
// because: that is the mean
//
// The misconception: DataParallel averages its replicas' gradients (that is what DDP
// does, where every rank has a loss of its own).

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
  total = ops::scale(total, 1.0 / static_cast<double>(gradients.size()));
  unpack(total, gradients[0], first, count, sums);
  first += count;
}
return sums;
// [/solution-reduce]

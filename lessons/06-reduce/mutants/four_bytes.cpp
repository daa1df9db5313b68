// rejected by: doubles_and_memory
// because: an element has 4 or 8
//
// The misconception: an element has four bytes, always: in float64 the groups are twice
// too large.

// [solution-reduce]
wait_for_replicas(gradients, to);
std::vector<int64_t> bytes;
for (const Tensor& gradient : gradients[0]) bytes.push_back(4 * gradient.numel());
Tensors sums;
size_t first = 0;
for (size_t count : group_sizes(bytes, kLimit)) {
  Tensor total = pack(gradients[0], first, count);
  for (size_t d = 1; d < gradients.size(); ++d) {
    const Tensor flat = pack(gradients[d], first, count);
    ops::add_(total, ops::copy_to(flat, to, {"reduce", "group"}));
  }
  unpack(total, gradients[0], first, count, sums);
  first += count;
}
return sums;
// [/solution-reduce]

// rejected by: other_sums
// because: the sum was added into an input gradient
//
// The misconception: a group of one tensor is not packed but added to in place: replica
// 0's own gradient is overwritten.

// [solution-reduce]
wait_for_replicas(gradients, to);
std::vector<int64_t> bytes;
for (const Tensor& gradient : gradients[0]) bytes.push_back(gradient.nbytes());
Tensors sums;
size_t first = 0;
for (size_t count : group_sizes(bytes, kLimit)) {
  Tensor total =
      count == 1
          ? ops::contiguous(gradients[0][first]).reshaped({gradients[0][first].numel()})
          : pack(gradients[0], first, count);
  for (size_t d = 1; d < gradients.size(); ++d) {
    const Tensor flat = pack(gradients[d], first, count);
    ops::add_(total, ops::copy_to(flat, to, {"reduce", "group"}));
  }
  unpack(total, gradients[0], first, count, sums);
  first += count;
}
return sums;
// [/solution-reduce]

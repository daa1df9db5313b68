// rejected by: bytes_once
// because: begin or end on the host
//
// The misconception: devices cannot send to each other; everything goes through the
// host.

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
    const Tensor there = ops::copy_to(flat, kHost, {"reduce", "group"});
    ops::add_(total, ops::copy_to(there, to, {"reduce", "group"}));
  }
  unpack(total, gradients[0], first, count, sums);
  first += count;
}
return sums;
// [/solution-reduce]

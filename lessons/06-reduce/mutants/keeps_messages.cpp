// rejected by: doubles_and_memory
// because: a message needs memory only while it
//
// The misconception: every message is kept alive until the next step, for fear that its
// memory is reused while the sum is enqueued.

// [solution-reduce]
wait_for_replicas(gradients, to);
std::vector<int64_t> bytes;
for (const Tensor& gradient : gradients[0]) bytes.push_back(gradient.nbytes());
static Tensors& in_use = *new Tensors;
in_use.clear();
Tensors sums;
size_t first = 0;
for (size_t count : group_sizes(bytes, kLimit)) {
  Tensor total = pack(gradients[0], first, count);
  for (size_t d = 1; d < gradients.size(); ++d) {
    const Tensor flat = pack(gradients[d], first, count);
    in_use.push_back(flat);
    in_use.push_back(ops::copy_to(flat, to, {"reduce", "group"}));
    ops::add_(total, in_use.back());
  }
  unpack(total, gradients[0], first, count, sums);
  first += count;
}
return sums;
// [/solution-reduce]

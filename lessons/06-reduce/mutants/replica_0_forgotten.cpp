// rejected by: sums_on_device_0
// because: the sum without replica 0
//
// The misconception: device 0 holds the model and collects; the others compute.

// [solution-reduce]
wait_for_replicas(gradients, to);
std::vector<int64_t> bytes;
for (const Tensor& gradient : gradients[0]) bytes.push_back(gradient.nbytes());
Tensors sums;
size_t first = 0;
for (size_t count : group_sizes(bytes, kLimit)) {
  Tensor total;
  for (size_t d = 1; d < gradients.size(); ++d) {
    const Tensor came =
        ops::copy_to(pack(gradients[d], first, count), to, {"reduce", "group"});
    total = total.defined() ? ops::add(total, came) : came;
  }
  unpack(total, gradients[0], first, count, sums);
  first += count;
}
return sums;
// [/solution-reduce]

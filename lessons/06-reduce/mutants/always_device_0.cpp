// rejected by: other_sums
// because: the parameters that the optimizer updates live on device
//
// The misconception: the model is always on device 0, so `to` is ignored (wrong with
// --gpu 2,1).

// [solution-reduce]
const Device first_device{to.type, 0};
wait_for_replicas(gradients, first_device);
std::vector<int64_t> bytes;
for (const Tensor& gradient : gradients[0]) bytes.push_back(gradient.nbytes());
Tensors sums;
size_t first = 0;
for (size_t count : group_sizes(bytes, kLimit)) {
  Tensor total =
      ops::copy_to(pack(gradients[0], first, count), first_device, {"reduce", "group"});
  for (size_t d = 1; d < gradients.size(); ++d) {
    const Tensor flat = pack(gradients[d], first, count);
    ops::add_(total, ops::copy_to(flat, first_device, {"reduce", "group"}));
  }
  unpack(total, gradients[0], first, count, sums);
  first += count;
}
return sums;
// [/solution-reduce]

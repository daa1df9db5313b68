// rejected by: sums_on_device_0
// because: the sum of that parameter's gradients
//
// The misconception (a slip): every group begins at the first tensor. With a message
// per tensor, all parameters get the first one's gradient.

// [solution-reduce]
wait_for_replicas(gradients, to);
Tensors sums;
for (size_t i = 0; i < gradients[0].size(); ++i) {
  Tensor total = pack(gradients[0], 0, 1);
  for (size_t d = 1; d < gradients.size(); ++d) {
    const Tensor flat = pack(gradients[d], 0, 1);
    ops::add_(total, ops::copy_to(flat, to, {"reduce", "group"}));
  }
  unpack(total, gradients[0], 0, 1, sums);
}
return sums;
// [/solution-reduce]

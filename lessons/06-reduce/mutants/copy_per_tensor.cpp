// rejected by: few_messages
// because: a message for each tensor
//
// The misconception: only bytes cost time.

// [solution-reduce]
wait_for_replicas(gradients, to);
Tensors sums;
for (size_t i = 0; i < gradients[0].size(); ++i) {
  Tensor total = pack(gradients[0], i, 1);
  for (size_t d = 1; d < gradients.size(); ++d) {
    const Tensor flat = pack(gradients[d], i, 1);
    ops::add_(total, ops::copy_to(flat, to, {"reduce", "gradient"}));
  }
  unpack(total, gradients[0], i, 1, sums);
}
return sums;
// [/solution-reduce]

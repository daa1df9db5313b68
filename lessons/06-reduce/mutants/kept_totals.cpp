// rejected by: same_training
// because: the step before
//
// The misconception: memory for the sums is taken once and kept, as a bucket; that it
// still holds the last step's sums is forgotten.

// [solution-reduce]
static std::map<std::pair<int64_t, size_t>, Tensor> buckets;
wait_for_replicas(gradients, to);
std::vector<int64_t> bytes;
for (const Tensor& gradient : gradients[0]) bytes.push_back(gradient.nbytes());
Tensors sums;
size_t first = 0;
for (size_t count : group_sizes(bytes, kLimit)) {
  const Tensor mine = pack(gradients[0], first, count);
  Tensor& total = buckets[{mine.numel(), gradients.size()}];
  if (!total.defined()) total = ops::full_like(mine, 0);
  ops::add_(total, mine);
  for (size_t d = 1; d < gradients.size(); ++d) {
    const Tensor flat = pack(gradients[d], first, count);
    ops::add_(total, ops::copy_to(flat, to, {"reduce", "group"}));
  }
  unpack(total, gradients[0], first, count, sums);
  first += count;
}
return sums;
// [/solution-reduce]

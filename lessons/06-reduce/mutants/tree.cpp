// rejected by: bytes_once
// because: partial sums travel between replicas
//
// The misconception: two at a time is faster, and the bytes are the same.

// [solution-reduce]
wait_for_replicas(gradients, to);
std::vector<int64_t> bytes;
for (const Tensor& gradient : gradients[0]) bytes.push_back(gradient.nbytes());
Tensors sums;
size_t first = 0;
for (size_t count : group_sizes(bytes, kLimit)) {
  Tensors flats;
  for (const Tensors& replica : gradients) {
    flats.push_back(pack(replica, first, count));
  }
  for (size_t apart = 1; apart < flats.size(); apart *= 2) {
    for (size_t d = 0; d + apart < flats.size(); d += 2 * apart) {
      const Device here = flats[d].device();
      ops::add_(flats[d], ops::copy_to(flats[d + apart], here, {"reduce", "group"}));
    }
  }
  unpack(flats[0], gradients[0], first, count, sums);
  first += count;
}
return sums;
// [/solution-reduce]

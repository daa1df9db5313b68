// rejected by: right_samples
// because: a view stays where it is
//
// The misconception: cutting is enough; the devices can read the host's tensor.

// [solution-scatter]
std::vector<Tensor> chunks;
int64_t first = 0;
for (int64_t count : chunk_sizes(input.size(0), std::ssize(devices))) {
  chunks.push_back(input.narrowed(first, count));
  first += count;
}
return chunks;
// [/solution-scatter]

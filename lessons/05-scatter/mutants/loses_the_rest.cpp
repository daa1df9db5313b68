// rejected by: right_samples
// because: a chunk for each of the sizes
//
// The misconception: only full chunks are worth sending (the loader's
// drop_last is a different option).

// [solution-scatter]
std::vector<Tensor> chunks;
int64_t first = 0;
const auto sizes = chunk_sizes(input.size(0), std::ssize(devices));
for (int64_t count : sizes) {
  if (count < sizes[0]) break;
  chunks.push_back(ops::copy_to(input.narrowed(first, count), devices[chunks.size()],
                                {"scatter", "images"}));
  first += count;
}
return chunks;
// [/solution-scatter]

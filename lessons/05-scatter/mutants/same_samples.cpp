// rejected by: right_samples
// because: begins at the wrong sample
//
// The misconception (a slip): every chunk is the first one.

// [solution-scatter]
std::vector<Tensor> chunks;
for (int64_t count : chunk_sizes(input.size(0), std::ssize(devices))) {
  chunks.push_back(ops::copy_to(input.narrowed(0, count), devices[chunks.size()],
                                {"scatter", "images"}));
}
return chunks;
// [/solution-scatter]

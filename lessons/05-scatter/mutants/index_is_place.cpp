// rejected by: right_samples
// because: chunk i goes to devices[i]
//
// The misconception: device i is taken to be the device with index i, whatever the list
// says (--gpu 2,0).

// [solution-scatter]
std::vector<Tensor> chunks;
int64_t first = 0;
for (int64_t count : chunk_sizes(input.size(0), std::ssize(devices))) {
  const Device to{devices[0].type, static_cast<int>(chunks.size())};
  chunks.push_back(
      ops::copy_to(input.narrowed(first, count), to, {"scatter", "images"}));
  first += count;
}
return chunks;
// [/solution-scatter]

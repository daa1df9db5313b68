// rejected by: bytes_once
// because: travels as one message
//
// The misconception: a batch is a list of samples, so they are sent one by one. The
// bytes are right; there are just 10 messages in place of 4.

// [solution-scatter]
std::vector<Tensor> chunks;
int64_t first = 0;
for (int64_t count : chunk_sizes(input.size(0), std::ssize(devices))) {
  Shape sizes = input.sizes();
  sizes[0] = count;
  Tensor chunk = Tensor::empty(sizes, devices[chunks.size()], input.dtype());
  for (int64_t i = 0; i < count; ++i) {
    ops::copy_into(input.narrowed(first + i, 1), chunk.narrowed(i, 1),
                   {"scatter", "images"});
  }
  chunks.push_back(chunk);
  first += count;
}
return chunks;
// [/solution-scatter]

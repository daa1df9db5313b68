// rejected by: right_samples
// because: a chunk is part of the batch
//
// The misconception: images are float32, so chunks are rebuilt in that type from the
// batch's numbers.

// [solution-scatter]
std::vector<Tensor> chunks;
int64_t first = 0;
for (int64_t count : chunk_sizes(input.size(0), std::ssize(devices))) {
  const Device to = devices[chunks.size()];
  Tensor piece = input.narrowed(first, count);
  if (piece.device().is_host()) {
    std::vector<double> values(piece.numel());
    for (int64_t j = 0; j < piece.numel(); ++j) {
      values[j] = piece.dtype() == DType::f64 ? piece.view().as<double>()[j]
                                              : piece.view().as<float>()[j];
    }
    piece = Tensor::from(values, piece.sizes());
  }
  chunks.push_back(ops::copy_to(piece, to, {"scatter", "images"}));
  first += count;
}
return chunks;
// [/solution-scatter]

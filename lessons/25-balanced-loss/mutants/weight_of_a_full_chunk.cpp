// rejected by: image_weight
// because: as if all chunks were as large as the first
//
// The misconception: all chunks have the same size.

// [solution-weight]
  const int64_t size = (batch + devices - 1) / devices;
  const int64_t chunks = (batch + size - 1) / size;
  (void)image;
  return 1.0 / static_cast<double>(chunks * size);
// [/solution-weight]

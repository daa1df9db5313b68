// rejected by: image_weight
// because: 1 / 12 of integers is 0
//
// The misconception: 1 / 12 is a twelfth. In C++ it is 0.

// [solution-weight]
  const int64_t size = (batch + devices - 1) / devices;
  const int64_t chunks = (batch + size - 1) / size;
  const int64_t first = image / size * size;
  const int64_t own = first + size <= batch ? size : batch - first;
  return 1 / (chunks * own);
// [/solution-weight]

// rejected by: image_weight
// because: an idle device has none
//
// The misconception: there are as many chunks as devices.

// [solution-weight]
  const int64_t size = (batch + devices - 1) / devices;
  const int64_t first = image / size * size;
  const int64_t own = first + size <= batch ? size : batch - first;
  return 1.0 / static_cast<double>(devices * own);
// [/solution-weight]

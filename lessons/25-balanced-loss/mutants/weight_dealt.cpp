// rejected by: image_weight
// because: consecutive ones
//
// The misconception: images are dealt to the devices one by one, like a sampler's.

// [solution-weight]
  const int64_t device = image % devices;
  const int64_t own = (batch - device + devices - 1) / devices;
  return 1.0 / static_cast<double>(std::min(batch, devices) * own);
// [/solution-weight]

// rejected by: image_weight
// because: its weight in a mean over all images
//
// The misconception: each image counts as much as any other.

// [solution-weight]
  (void)image, (void)devices;
  return 1.0 / static_cast<double>(batch);
// [/solution-weight]

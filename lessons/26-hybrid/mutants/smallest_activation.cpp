// rejected by: the_cut
// because: a device of the features sends most
//
// The misconception: cut where the activations are smallest.

// [solution-cut]
  int64_t best = 0, least = INT64_MAX;
  for (size_t i = 0; i + 1 < layers.size(); ++i) {
    if (layers[i].output >= least) continue;
    least = layers[i].output;
    best = static_cast<int64_t>(i) + 1;
  }
  (void)batch, (void)devices;
  return best;
// [/solution-cut]

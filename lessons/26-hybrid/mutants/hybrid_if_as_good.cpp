// rejected by: the_cut
// because: a hybrid gains nothing
//
// The misconception: with equal bytes the hybrid is better.

// [solution-cut]
  int64_t all = 0, before = 0, best = 0, least = 0;
  for (const Layer& layer : layers) all += layer.parameters;
  for (size_t i = 0; i + 1 < layers.size(); ++i) {
    before += layers[i].parameters;
    const Ledger sent =
        ledger({before, all - before, layers[i].output}, batch, devices);
    if (i == 0) least = sent.ddp + 1;
    const int64_t most = std::max(sent.feature_device, sent.classifier_device);
    if (most < least) {
      least = most;
      best = static_cast<int64_t>(i) + 1;
    }
  }
  return best;
// [/solution-cut]

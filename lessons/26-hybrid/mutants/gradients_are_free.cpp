// rejected by: the_ledger
// because: the gradients of all activations leave this device
//
// The misconception: the classifier receives, and sends nothing.

// [solution-ledger]
  const int64_t replicas = devices - 1;
  const int64_t chunk = (batch + replicas - 1) / replicas;
  const auto ring = [](int64_t bytes, int64_t n) { return 2 * (n - 1) * (bytes / n); };
  return {ring(net.features, replicas) + chunk * net.activation, 0,
          ring(net.features + net.classifier, devices)};
// [/solution-ledger]

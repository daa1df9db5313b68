// rejected by: the_ledger
// because: has no part in it
//
// The misconception: all devices take part in the features' ring.

// [solution-ledger]
  const int64_t replicas = devices - 1;
  const int64_t chunk = (batch + replicas - 1) / replicas;
  const auto ring = [](int64_t bytes, int64_t n) { return 2 * (n - 1) * (bytes / n); };
  return {ring(net.features, devices) + chunk * net.activation, batch * net.activation,
          ring(net.features + net.classifier, devices)};
// [/solution-ledger]

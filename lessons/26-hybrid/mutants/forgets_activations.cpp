// rejected by: the_ledger
// because: activations have bytes as well
//
// The misconception: only weights have bytes.

// [solution-ledger]
  const int64_t replicas = devices - 1;
  [[maybe_unused]] const int64_t chunk = (batch + replicas - 1) / replicas;
  const auto ring = [](int64_t bytes, int64_t n) { return 2 * (n - 1) * (bytes / n); };
  return {ring(net.features, replicas), batch * net.activation,
          ring(net.features + net.classifier, devices)};
// [/solution-ledger]

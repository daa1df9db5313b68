// rejected by: the_ledger
// because: divide first, then multiply
//
// The misconception: parts have fractions of bytes.

// [solution-ledger]
  const int64_t replicas = devices - 1;
  const int64_t chunk = (batch + replicas - 1) / replicas;
  const auto ring = [](int64_t bytes, int64_t n) { return 2 * (n - 1) * (bytes / n); };
  return {ring(net.features, replicas) + chunk * net.activation, batch * net.activation,
          2 * (devices - 1) * (net.features + net.classifier) / devices};
// [/solution-ledger]

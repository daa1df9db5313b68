// rejected by: the_ledger
// because: too many bytes for 32 bits
//
// The misconception: an int holds any number of bytes.

// [solution-ledger]
  const int64_t replicas = devices - 1;
  const int64_t chunk = (batch + replicas - 1) / replicas;
  const auto ring = [](int64_t bytes, int64_t n) { return 2 * (n - 1) * (bytes / n); };
  const int all = static_cast<int>(ring(net.features + net.classifier, devices));
  return {ring(net.features, replicas) + chunk * net.activation,
          static_cast<int>(batch * net.activation), all};
// [/solution-ledger]

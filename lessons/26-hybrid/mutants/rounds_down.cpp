// rejected by: the_ledger
// because: the largest chunk
//
// The misconception: the largest chunk is batch / devices, rounded down.

// [solution-ledger]
  const int64_t replicas = devices - 1;
  const int64_t chunk = batch / replicas;
  const auto ring = [](int64_t bytes, int64_t n) { return 2 * (n - 1) * (bytes / n); };
  return {ring(net.features, replicas) + chunk * net.activation, batch * net.activation,
          ring(net.features + net.classifier, devices)};
// [/solution-ledger]

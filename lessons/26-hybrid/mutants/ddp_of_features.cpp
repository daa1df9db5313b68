// rejected by: the_ledger
// because: the ring of DDP has all devices
//
// The misconception: DDP leaves the classifier alone.

// [solution-ledger]
  const int64_t replicas = devices - 1;
  const int64_t chunk = (batch + replicas - 1) / replicas;
  const auto ring = [](int64_t bytes, int64_t n) { return 2 * (n - 1) * (bytes / n); };
  return {ring(net.features, replicas) + chunk * net.activation, batch * net.activation,
          ring(net.features, devices)};
// [/solution-ledger]

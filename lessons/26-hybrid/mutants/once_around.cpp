// rejected by: the_ledger
// because: to be added, and to be distributed
//
// The misconception: a ring sends each part once. It adds first, and distributes then.

// [solution-ledger]
  const int64_t replicas = devices - 1;
  const int64_t chunk = (batch + replicas - 1) / replicas;
  const auto ring = [](int64_t bytes, int64_t n) { return (n - 1) * (bytes / n); };
  return {ring(net.features, replicas) + chunk * net.activation, batch * net.activation,
          ring(net.features + net.classifier, devices)};
// [/solution-ledger]

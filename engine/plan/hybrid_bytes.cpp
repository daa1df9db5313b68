#include "engine/plan/hybrid_bytes.h"

#include "engine/plan/ring.h"

namespace lockstep::plan {

std::vector<PortBytes> ring_port_bytes(int64_t numel, int64_t item, int world) {
  const std::vector<ChunkRange> chunks = ring_chunks(numel, world);
  std::vector<PortBytes> ports(static_cast<size_t>(world));
  for (int rank = 0; rank < world; ++rank) {
    PortBytes& port = ports[static_cast<size_t>(rank)];
    for (const RingStep& step : ring_all_reduce(rank, world)) {
      port.out += chunks[static_cast<size_t>(step.send_chunk)].count * item;
      port.in += chunks[static_cast<size_t>(step.receive_chunk)].count * item;
    }
  }
  return ports;
}

std::vector<PortBytes> hybrid_port_bytes(int64_t numel, int64_t item,
                                         int feature_devices,
                                         const std::vector<int64_t>& activations) {
  std::vector<PortBytes> ports = ring_port_bytes(numel, item, feature_devices);
  PortBytes classifier;
  for (size_t i = 0; i < activations.size(); ++i) {
    ports[i].out += activations[i];
    ports[i].in += activations[i];
    classifier.in += activations[i];
    classifier.out += activations[i];
  }
  ports.push_back(classifier);
  return ports;
}

int64_t bytes_sent(const std::vector<PortBytes>& ports) {
  int64_t sum = 0;
  for (const PortBytes& port : ports) sum += port.out;
  return sum;
}

}  // namespace lockstep::plan

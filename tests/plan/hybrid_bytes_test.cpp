// The ledger of a hybrid beside DistributedDataParallel's, in closed form.
#include "engine/plan/hybrid_bytes.h"

#include <gtest/gtest.h>

#include "engine/plan/chunk.h"

namespace lockstep::plan {
namespace {

TEST(HybridBytes, ARingSendsItsShareToWithinAnElement) {
  EXPECT_EQ(ring_port_bytes(12, 4, 1), (std::vector<PortBytes>{{0, 0}}));
  EXPECT_EQ(ring_port_bytes(12, 4, 3),
            (std::vector<PortBytes>{{64, 64}, {64, 64}, {64, 64}}));
  for (const int world : {2, 3, 4, 7}) {
    for (const int64_t numel : {1, 10, 1001}) {
      const auto ports = ring_port_bytes(numel, 8, world);
      int64_t received = 0;
      for (const PortBytes& port : ports) {
        EXPECT_LE(std::abs(port.out * world - 16 * (world - 1) * numel), 8 * world);
        received += port.in;
      }
      EXPECT_EQ(bytes_sent(ports), 16 * (world - 1) * numel);
      EXPECT_EQ(received, bytes_sent(ports));
    }
  }
}

TEST(HybridBytes, AnIdleDeviceOnlySumsGradients) {
  EXPECT_EQ(hybrid_port_bytes(12, 4, 3, {20, 20}),
            (std::vector<PortBytes>{{84, 84}, {84, 84}, {64, 64}, {40, 40}}));
  EXPECT_EQ(hybrid_port_bytes(12, 4, 1, {20}),
            (std::vector<PortBytes>{{20, 20}, {20, 20}}));
}

/// torchvision's VGG16 with 1000 classes, in float32.
constexpr int64_t kFeatures = 14'714'688, kAll = 138'357'544, kFloat = 4;

struct Ledger {
  std::vector<PortBytes> hybrid, ddp;
};

/// `side`: of the features of an image, which have 512 channels.
Ledger of_vgg16(int64_t batch, int64_t side) {
  std::vector<int64_t> activations;
  for (const int64_t rows : chunk_sizes(batch, 3)) {
    activations.push_back(rows * 512 * side * side * kFloat);
  }
  return {hybrid_port_bytes(kFeatures, kFloat, 3, activations),
          ring_port_bytes(kAll, kFloat, 4)};
}

// The book shows these numbers: 3 · 64 images on four devices.
TEST(HybridBytes, OfVgg16) {
  const int64_t ring = 4 * kFeatures * kFloat / 3;  // 2 · 2/3 of the features
  const Ledger small = of_vgg16(192, 1), large = of_vgg16(192, 7);
  EXPECT_EQ(small.hybrid[0].out, ring + 64 * 2048);
  EXPECT_EQ(small.hybrid[3].out, 192 * 2048);
  EXPECT_EQ(large.hybrid[0].out, ring + 64 * 100'352);
  EXPECT_EQ(large.hybrid[3].out, 192 * 100'352);
  EXPECT_EQ(bytes_sent(small.hybrid), 3 * ring + 2 * 192 * 2048);
  EXPECT_EQ(small.ddp[0].out, kAll * kFloat * 3 / 2);
  EXPECT_EQ(bytes_sent(small.ddp), 6 * kAll * kFloat);
  // In MB: 78.6 and 84.9 beside 830.1 per device, 236.2 and 274.0 beside 3320.6.
  EXPECT_NEAR(double(small.hybrid[0].out) / 1e6, 78.6, 0.05);
  EXPECT_NEAR(double(large.hybrid[0].out) / 1e6, 84.9, 0.05);
  EXPECT_NEAR(double(small.ddp[0].out) / 1e6, 830.1, 0.05);
  EXPECT_NEAR(double(bytes_sent(small.hybrid)) / 1e6, 236.2, 0.05);
  EXPECT_NEAR(double(bytes_sent(large.hybrid)) / 1e6, 274.0, 0.05);
  EXPECT_NEAR(double(bytes_sent(large.ddp)) / 1e6, 3320.6, 0.05);
}

}  // namespace
}  // namespace lockstep::plan

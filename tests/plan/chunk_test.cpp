// How a batch is split: compares with PyTorch's `chunk`.
#include "engine/plan/chunk.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

namespace lockstep::plan {
namespace {

using Sizes = std::vector<int64_t>;

TEST(Chunk, EqualsTorchChunkEverywhere) {
  std::ifstream file(LOCKSTEP_SOURCE_DIR "/tests/golden/torch/chunks.json");
  const auto golden = nlohmann::json::parse(file);
  int compared = 0;
  for (const auto& [batch, devices, sizes] :
       golden.at("chunk").get<std::vector<std::tuple<int64_t, int64_t, Sizes>>>()) {
    if (batch == 0) continue;  // not supported: batches are not empty
    EXPECT_EQ(chunk_sizes(batch, devices), sizes) << batch << " on " << devices;
    ++compared;
  }
  EXPECT_GE(compared, 200);
}

TEST(Chunk, VectorsOfTheResearchNotes) {
  EXPECT_EQ(chunk_sizes(256, 4), (Sizes{64, 64, 64, 64}));
  EXPECT_EQ(chunk_sizes(143, 4), (Sizes{36, 36, 36, 35}));  // ImageNet's last batch
  EXPECT_EQ(chunk_sizes(80, 4), (Sizes{20, 20, 20, 20}));   // CIFAR-10's last batch
  EXPECT_EQ(chunk_sizes(10, 4), (Sizes{3, 3, 3, 1}));
  EXPECT_EQ(chunk_sizes(5, 4), (Sizes{2, 2, 1}));  // one device gets no chunk
  EXPECT_EQ(chunk_sizes(9, 8), (Sizes{2, 2, 2, 2, 1}));
  EXPECT_EQ(chunk_sizes(7, 8), Sizes(7, 1));
  EXPECT_EQ(chunk_sizes(1, 4), Sizes{1});
}

TEST(Chunk, NothingIsLostAndNobodyIsEmpty) {
  for (int64_t total = 1; total <= 130; ++total) {
    for (int64_t chunks = 1; chunks <= 17; ++chunks) {
      const Sizes sizes = chunk_sizes(total, chunks);
      EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), total);
      EXPECT_LE(sizes.size(), static_cast<size_t>(chunks));
      for (const int64_t size : sizes) EXPECT_GE(size, 1);
    }
  }
}

}  // namespace
}  // namespace lockstep::plan

// A loader makes its batches in the memory that it is told to use.
// sanitize: address
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/data/generated.h"
#include "engine/data/loader.h"
#include "engine/runtime/pinned_memory.h"

namespace lockstep::data {
namespace {

/// Batches are moved from the worker through the queue to the training loop.
TEST(PinnedBatches, StayWhereTheyWereMade) {
  for (const int workers : {0, 2}) {
    std::vector<std::unique_ptr<char[]>> blocks;
    runtime::PinnedMemory memory([&blocks](size_t bytes) {
      return blocks.emplace_back(std::make_unique<char[]>(bytes)).get();
    });
    const auto images =
        std::make_shared<Generated>(std::vector<int64_t>{3, 64, 64}, 10, 40);
    DataLoader loader(images, {.batch_size = 4, .workers = workers, .memory = &memory});
    DataLoader ordinary(images, {.batch_size = 4});
    for (int epoch = 0; epoch < 2; ++epoch) {
      loader.start_epoch(epoch);
      ordinary.start_epoch(epoch);
      for (int i = 0; i < 10; ++i) {
        std::optional<Batch> batch;
        batch = loader.next();
        EXPECT_TRUE(memory.contains(batch->images.data()));
        const auto expected = ordinary.next()->images;
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), batch->images.begin(),
                               batch->images.end()));
      }
    }
    EXPECT_LE(blocks.size(), workers * 2u + 2u);
  }
}

}  // namespace
}  // namespace lockstep::data

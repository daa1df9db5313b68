// Epochs of which the first batches are left out.
// sanitize: thread
#include <gtest/gtest.h>

#include <stdexcept>

#include "engine/data/loader.h"

namespace lockstep::data {
namespace {

/// Sample i is the number i, plus a random one; sample `bad` cannot be loaded.
class Numbered : public Dataset {
 public:
  explicit Numbered(int64_t length, int64_t bad = -1) : length_(length), bad_(bad) {}
  int64_t size() const override { return length_; }
  std::vector<int64_t> sample_shape() const override { return {1}; }
  int64_t classes() const override { return length_; }
  int64_t get(int64_t index, Draws& draws, std::span<float> image) const override {
    if (index == bad_) throw std::invalid_argument("bad picture");
    image[0] = static_cast<float>(index) + static_cast<float>(draws.uniform());
    return index;
  }

 private:
  int64_t length_, bad_;
};

std::vector<Batch> batches_of(DataLoader& loader, int64_t epoch, int64_t first = 0) {
  loader.start_epoch(epoch, first);
  std::vector<Batch> batches;
  while (auto batch = loader.next()) batches.push_back(std::move(*batch));
  return batches;
}

TEST(DataLoader, BeginsInTheMiddleOfAnEpoch) {
  for (const int workers : {0, 1, 3}) {
    DataLoader loader(std::make_shared<Numbered>(23),
                      {.batch_size = 2, .workers = workers, .shuffle = true});
    const std::vector<Batch> whole = batches_of(loader, 4);
    for (const int64_t first : {int64_t{1}, int64_t{7}, loader.size()}) {
      const std::vector<Batch> rest = batches_of(loader, 4, first);
      ASSERT_EQ(rest.size(), whole.size() - first);
      for (size_t i = 0; i < rest.size(); ++i) {
        EXPECT_EQ(rest[i].labels, whole[first + i].labels);
        EXPECT_EQ(rest[i].images, whole[first + i].images);
      }
    }
  }
}

TEST(DataLoader, NumbersBatchesAsInTheWholeEpoch) {
  DataLoader loader(std::make_shared<Numbered>(12, 9), {.batch_size = 2, .workers = 2});
  loader.start_epoch(0, 3);
  EXPECT_EQ(loader.next()->labels[0], 6);
  try {
    loader.next();
    FAIL() << "no exception was thrown";
  } catch (const std::runtime_error& error) {  // the first batch is worker 0's
    EXPECT_STREQ(error.what(),
                 "Caught std::invalid_argument in DataLoader worker 1 (batch 4, "
                 "sample 9): bad picture");
  }
}

}  // namespace
}  // namespace lockstep::data

// The bytes of images become the same bits on a device as in the loader.
// sanitize: address
#include <bit>

#include "engine/data/generated.h"
#include "engine/data/loader.h"
#include "tests/engine/backends/cuda_device.h"
#include "tests/engine/values.h"

namespace lockstep {
namespace {

constexpr int64_t kPhotographs = 5, kHeight = 7, kWidth = 6;

data::Batch batch(bool bytes) {
  data::DataLoader loader(
      std::make_shared<data::Generated>(std::vector<int64_t>{3, kHeight, kWidth}, 4,
                                        kPhotographs),
      {.batch_size = kPhotographs, .as_bytes = bytes});
  loader.start_epoch(0);
  return *loader.next();
}

Tensor as_tensor(const data::Batch& batch) {
  const Tensor images = Tensor::empty(Shape(batch.shape), kHost, DType::u8);
  std::copy(batch.bytes.begin(), batch.bytes.end(), images.data<uint8_t>());
  return images;
}

void expect_same_bits(Device device, DType dtype) {
  const data::Batch bytes = batch(true), floats = batch(false);
  ASSERT_TRUE(bytes.images.empty());
  ASSERT_EQ(bytes.bytes.size(), floats.images.size());
  const data::Generated images({3, 1, 1}, 4, 1);
  const auto& [mean, std] = images.normalize().constants();
  const Tensor y =
      ops::normalize_images(test::on(device, as_tensor(bytes)), mean, std, dtype);
  EXPECT_EQ(y.dtype(), dtype);
  const std::vector<double> values = test::values_of(y);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(static_cast<float>(values[i])),
              std::bit_cast<uint32_t>(floats.images[i]))
        << "element " << i;
  }
}

TEST(NormalizeImages, HasTheBitsOfTheLoader) {
  expect_same_bits(test::kReference, DType::f32);
  expect_same_bits(test::kReference, DType::f64);
  expect_same_bits(test::kCpu, DType::f32);
}

TEST(NormalizeImages, TakesOnlyBytesOfImages) {
  const std::array<float, 3> ones{1, 1, 1};
  const auto refused = [&](const Shape& sizes, DType dtype) {
    const Tensor x = test::on(test::kCpu, Tensor::empty(sizes, kHost, dtype));
    return test::message_of([&] { ops::normalize_images(x, ones, ones); });
  };
  EXPECT_EQ(refused({2, 3, 4, 4}, DType::f32),
            "normalize_images expects bytes of images with 3 channels, N x 3 x H x W, "
            "but got "
            "float32 of [2, 3, 4, 4]");
  EXPECT_NE(refused({2, 4, 4, 4}, DType::u8), "");
  EXPECT_NE(refused({3, 4}, DType::u8), "");
}

class NormalizeOnCuda : public test::OnCuda {};

TEST_P(NormalizeOnCuda, HasTheBitsOfTheLoader) {
  expect_same_bits({DeviceType::cuda, 0}, DType::f32);
}

/// With `--amp`, the result is rounded to bfloat16.
TEST_P(NormalizeOnCuda, IsRoundedToBfloat16) {
  backend_options().amp = true;
  forget_plans();
  const data::Batch bytes = batch(true), floats = batch(false);
  const auto& [mean, std] = data::Generated({3, 1, 1}, 4, 1).normalize().constants();
  const Tensor x = test::on({DeviceType::cuda, 0}, as_tensor(bytes));
  const std::vector<double> values =
      test::values_of(ops::normalize_images(x, mean, std));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto bits = std::bit_cast<uint32_t>(floats.images[i]);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    ASSERT_EQ(std::bit_cast<uint32_t>(static_cast<float>(values[i])), rounded);
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, NormalizeOnCuda, testing::Values("Simulated", "Real"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep

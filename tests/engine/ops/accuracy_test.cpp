// Accuracy of fixed logits. A diverged model predicts nothing correctly.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/values.h"

namespace lockstep::test {
namespace {

const double kNan = std::nan("");

/// Three rows of three classes; the label of row i is i.
double accuracy_of(Device device, const std::vector<double>& logits, int64_t k) {
  const DType dtype = device == kCpu ? DType::f32 : DType::f64;
  const Tensor labels = Tensor::empty({3}, kHost, DType::i64);
  for (int64_t i = 0; i < 3; ++i) labels.data<int64_t>()[i] = i;
  return ops::item(ops::accuracy(on(device, Tensor::from(logits, {3, 3}, dtype)),
                                 on(device, labels), k));
}

class Accuracy : public ::testing::TestWithParam<Device> {
 protected:
  double of(const std::vector<double>& logits, int64_t k) {
    return accuracy_of(GetParam(), logits, k);
  }
};

TEST_P(Accuracy, CountsLabelsAmongTheLargestLogits) {
  const std::vector<double> logits = {3, 2, 1,   // 0 is first
                                      3, 2, 1,   // 1 is second
                                      3, 2, 1};  // 2 is third
  EXPECT_NEAR(of(logits, 1), 100.0 / 3, 1e-4);
  EXPECT_NEAR(of(logits, 2), 200.0 / 3, 1e-4);
  EXPECT_NEAR(of(logits, 3), 100.0, 1e-4);
}

TEST_P(Accuracy, OfTiesTheFirstClassIsTheLarger) {
  EXPECT_NEAR(of(std::vector<double>(9, 1.0), 1), 100.0 / 3, 1e-4);
  EXPECT_NEAR(of(std::vector<double>(9, 1.0), 2), 200.0 / 3, 1e-4);
}

TEST_P(Accuracy, AModelThatDivergedIsAlwaysWrong) {
  for (const int64_t k : {1, 2, 3}) EXPECT_EQ(of(std::vector<double>(9, kNan), k), 0);
}

// torch.topk of [1, nan, 0]: nan, 1, 0.
TEST_P(Accuracy, NanRanksAboveEveryNumber) {
  const std::vector<double> logits = {1, kNan, 0,     //
                                      0, 1,    kNan,  //
                                      0, kNan, 1};
  EXPECT_EQ(of(logits, 1), 0);
  EXPECT_NEAR(of(logits, 2), 100, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Backends, Accuracy, ::testing::Values(kReference, kCpu),
                         [](const auto& device) {
                           return device.param == kCpu ? "cpu" : "reference";
                         });

}  // namespace
}  // namespace lockstep::test

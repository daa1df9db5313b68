// The running average of a model's weights. PyTorch's:
// tests/e2e/torch_training_test.py.
#include "engine/optim/weight_average.h"

#include <cmath>

#include "tests/engine/values.h"

namespace lockstep {
namespace {

using InModel = optim::WeightAverage::InModel;

/// A batch norm has parameters, averaged buffers and a counter.
struct Net {
  Net() {
    nn::Construction construction;
    construction.dtype = DType::f64;
    const nn::ConstructionScope scope(construction);
    model = std::make_shared<nn::BatchNorm2d>(2);
    model->to(test::kReference);
    model->assign_paths("");
  }
  void set_all(double value) {
    for (Tensor tensor : tensors()) {
      tensor.set_data(ops::full_like(tensor.detach(), value));
    }
  }
  Tensors tensors() const {
    Tensors all = model->parameters();
    for (const Tensor& buffer : model->buffers()) {
      if (buffer.dtype() != DType::i64) all.push_back(buffer);
    }
    return all;
  }
  std::vector<double> values() const {
    std::vector<double> firsts;
    for (const Tensor& tensor : tensors()) {
      firsts.push_back(test::values_of(tensor)[0]);
    }
    return firsts;
  }
  nn::ModulePtr model;
};

TEST(WeightAverage, BeginsWithTheWeightsAndFollowsThem) {
  Net net;
  optim::WeightAverage average(net.model, 0.75, 2);
  for (const double weights : {9.0, 1.0, 9.0, 5.0, 9.0, 3.0}) {
    net.set_all(weights);
    average.after_update();  // every second one counts: 1, 5, 3
  }
  const double expected = 0.75 * (0.75 * 1 + 0.25 * 5) + 0.25 * 3;
  {
    const InModel evaluated(average);
    EXPECT_EQ(net.values(), std::vector<double>(4, expected));
  }
  EXPECT_EQ(net.values(), std::vector<double>(4, 3));
}

TEST(WeightAverage, ThereIsNoneBeforeTheFirst) {
  Net net;
  optim::WeightAverage average(net.model, 0.5, 2);
  EXPECT_TRUE(average.state().empty());
  average.after_update();
  EXPECT_EQ(average.state().size(), 1u);  // the number of steps alone
  EXPECT_FALSE(average.exists());
  average.after_update();
  EXPECT_TRUE(average.exists());
}

TEST(WeightAverage, GoesOnExactlyFromItsState) {
  Net net, other;
  optim::WeightAverage average(net.model, 0.9, 2);
  for (const double weights : {0.1, 0.2, 0.3}) {
    net.set_all(weights);
    average.after_update();
  }
  optim::WeightAverage resumed(other.model, 0.9, 2);
  resumed.set_state(average.state());
  for (const double weights : {0.4, 0.5, 0.6}) {
    net.set_all(weights);
    other.set_all(weights);
    average.after_update();
    resumed.after_update();
  }
  const InModel evaluated(average), other_evaluated(resumed);
  EXPECT_EQ(other.values(), net.values());
  EXPECT_NE(net.values()[0], 0.6);
}

}  // namespace
}  // namespace lockstep

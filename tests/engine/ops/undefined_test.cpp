// An undefined tensor corresponds to Python's None. Operations reject it with an error
// that names the operation and the argument, like PyTorch's.
#include <functional>

#include "engine/tensor/tensor.h"
#include "tests/engine/values.h"

namespace lockstep {
namespace {

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const UndefinedTensor& error) {
    return error.what();
  }
  return "no error";
}

std::string must_be_tensor(const std::string& op, const std::string& argument) {
  const bool first = argument == "input";
  return op + "(): argument '" + argument + "' (position " + (first ? "1" : "2") +
         ") must be Tensor, not NoneType";
}

Tensor some(const Shape& sizes) {
  return Tensor::empty(sizes, {DeviceType::reference, 0});
}

TEST(Undefined, AnOperationNamesItsArgument) {
  const Tensor none, image = some({1, 1, 2, 2}), rows = some({2, 2});
  const ops::BatchNormState state{some({1}), some({1}), some({1}), some({1}), {}};
  Tensor in_place;
  const std::vector<std::tuple<const char*, const char*, std::function<void()>>> calls{
      {"conv2d", "input", [&] { ops::conv2d(none, image, {}, {}); }},
      {"conv2d", "weight", [&] { ops::conv2d(image, none, {}, {}); }},
      {"linear", "input", [&] { ops::linear(none, rows, {}); }},
      {"linear", "weight", [&] { ops::linear(rows, none, {}); }},
      {"batch_norm", "input", [&] { ops::batch_norm(none, state, true, 0.1, 1e-5); }},
      {"batch_norm", "weight", [&] { ops::batch_norm(image, {}, true, 0.1, 1e-5); }},
      {"relu", "input", [&] { ops::relu(none); }},
      {"relu_", "input", [&] { ops::relu_(in_place); }},
      {"max_pool2d", "input", [&] { ops::max_pool2d(none, {}); }},
      {"avg_pool2d", "input", [&] { ops::avg_pool2d(none, {}); }},
      {"adaptive_avg_pool2d", "input", [&] { ops::adaptive_avg_pool2d(none, 1, 1); }},
      {"add", "input", [&] { ops::add(none, rows); }},
      {"add", "other", [&] { ops::add(rows, none); }},
      {"add_", "input", [&] { ops::add_(in_place, rows); }},
      {"sub", "other", [&] { ops::sub(rows, none); }},
      {"mul", "other", [&] { ops::mul(rows, none); }},
      {"div", "input", [&] { ops::div(none, rows); }},
      {"mul", "input", [&] { ops::scale(none, 2); }},
      {"flatten", "input", [&] { ops::flatten(none); }},
      {"dropout", "input", [&] { ops::dropout(none, 0.5, true); }},
      {"log_softmax", "input", [&] { ops::log_softmax(none); }},
      {"nll_loss", "target", [&] { ops::nll_loss(rows, none); }},
      {"log_softmax", "input", [&] { ops::cross_entropy(none, rows); }},
      {"topk", "input", [&] { ops::accuracy(none, rows, 1); }},
      {"full_like", "input", [&] { ops::full_like(none, 0); }},
      {"contiguous", "input", [&] { ops::contiguous(none); }},
  };
  for (const auto& [op, argument, call] : calls) {
    EXPECT_EQ(error_of(call), must_be_tensor(op, argument));
  }
}

TEST(Undefined, AnElementOfAListIsNumbered) {
  const Tensor rows = some({2, 2});
  EXPECT_EQ(error_of([&] { ops::cat({rows, Tensor()}); }),
            "expected Tensor as element 1 in argument 0, but got NoneType");
}

TEST(Undefined, AskedForAnythingItThrows) {
  const Tensor none;
  const std::string expected =
      "Expected a proper Tensor but got None (or an undefined Tensor in C++)";
  for (const auto& ask : std::vector<std::function<void()>>{
           [&] { (void)none.sizes(); }, [&] { (void)none.numel(); },
           [&] { (void)none.device(); }, [&] { (void)none.dtype(); },
           [&] { (void)none.view(); }, [&] { (void)none.requires_grad(); },
           [&] { (void)none.grad(); }, [&] { (void)none.detach(); },
           [&] { (void)none.meta(); }, [&] { (void)none.data<float>(); },
           [&] { (void)none.narrowed(0, 1); }, [&] { (void)none.reshaped({1}); },
           [&] { none.backward(); }, [&] { (void)ops::item(none); },
           [&] { Tensor().set_data(none); }}) {
    EXPECT_EQ(error_of(ask).substr(0, expected.size()), expected);
  }
  EXPECT_FALSE(none.defined());
  EXPECT_FALSE(none.owns_memory_alone());
}

TEST(Undefined, WhatCannotBecomeOneStaysAsItWas) {
  Tensor unset;
  EXPECT_THROW(unset.set_data({}), UndefinedTensor);
  EXPECT_FALSE(unset.defined());
}

}  // namespace
}  // namespace lockstep

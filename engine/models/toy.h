// The model of the notebook: one `Linear(5, 2)` that can print its input/output sizes.
#pragma once

#include "engine/nn/layers.h"

namespace lockstep::models {

class Toy : public nn::Module {
 public:
  Toy(int64_t in = 5, int64_t out = 2, bool print = false);
  Tensor forward(const Tensor& input) override;
  const char* type_name() const override { return "Model"; }
  nn::ModulePtr make_like() const override {
    return std::make_shared<Toy>(in_, out_, print_);
  }

 private:
  int64_t in_, out_;
  bool print_;
  std::shared_ptr<nn::Linear> fc_;
};

}  // namespace lockstep::models

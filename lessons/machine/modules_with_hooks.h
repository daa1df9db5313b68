// Lesson 13's modules: what they and their hooks see is written to a log.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/nn/module.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "lessons/machine/exam.h"

namespace lockstep::lessons::lesson_13 {

constexpr Device kDevice{DeviceType::reference, 0};

using Log = std::vector<std::string>;

inline double number_in(const Tensor& tensor) { return values(tensor).at(0); }

inline std::string shown(const Tensor& tensor) {
  return tensor.defined() ? fmt::format("{}", number_in(tensor)) : "undefined";
}

inline Tensor on_device(double number) {
  return ops::copy_to(Tensor::from({number}, {1}, DType::f64), kDevice,
                      {"h2d", "numbers"});
}

/// Triples its input, and writes to a log that it did.
class Triple : public nn::Module {
 public:
  explicit Triple(Log& log) : log_(log) {}
  Tensor forward(const Tensor& input) override {
    log_.push_back(fmt::format("forward({})", shown(input)));
    return input.defined() ? ops::scale(input, 3) : input;
  }
  const char* type_name() const override { return "Triple"; }
  nn::ModulePtr make_like() const override { return std::make_shared<Triple>(log_); }

 private:
  Log& log_;
};

/// A module with hooks that write to a log what they see. `times` 0: the hook returns
/// an undefined tensor; otherwise, what it sees, times this number.
struct Hooked {
  Log log;
  Triple module{log};

  void pre_hook(double times = 0) {
    const size_t index = module.forward_pre_hooks().size();
    module.register_forward_pre_hook([=, this](nn::Module&, const Tensor& input) {
      log.push_back(fmt::format("pre-hook {}({})", index, shown(input)));
      return times == 0 || !input.defined() ? Tensor() : ops::scale(input, times);
    });
  }
  void hook(double times = 0) {
    const size_t index = module.forward_hooks().size();
    module.register_forward_hook([=, this](nn::Module&, const Tensor& input,
                                           const Tensor& output) {
      log.push_back(fmt::format("hook {}({}, {})", index, shown(input), shown(output)));
      return times == 0 || !output.defined() ? Tensor() : ops::scale(output, times);
    });
  }
  std::string call(double input) { return shown(module(on_device(input))); }
};

/// Calls another module, as a model calls its layers.
class Outer : public nn::Module {
 public:
  explicit Outer(nn::Module& inner) : inner_(inner) {}
  Tensor forward(const Tensor& input) override { return inner_(input); }
  const char* type_name() const override { return "Outer"; }
  nn::ModulePtr make_like() const override { return std::make_shared<Outer>(inner_); }

 private:
  nn::Module& inner_;
};

/// Does what a test chooses.
class Chosen : public nn::Module {
 public:
  using Work = std::function<Tensor(const Tensor& input)>;
  explicit Chosen(Work work) : work_(std::move(work)) {}
  Tensor forward(const Tensor& input) override { return work_(input); }
  const char* type_name() const override { return "Chosen"; }
  nn::ModulePtr make_like() const override { return std::make_shared<Chosen>(work_); }

 private:
  Work work_;
};

}  // namespace lockstep::lessons::lesson_13

// Lesson 14's replicas, whose computation a test chooses.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/autograd/engine.h"
#include "engine/autograd/node.h"
#include "engine/nn/layers.h"
#include "engine/ops/copy.h"
#include "engine/ops/ops.h"
#include "engine/optim/sgd.h"
#include "engine/parallel/data_parallel.h"
#include "lessons/machine/exam.h"
#include "lessons/machine/three_steps.h"

namespace lockstep::lessons::lesson_14 {

using three_steps::Numbers;
using three_steps::on;
using three_steps::reference_devices;

/// A replica whose computation a test chooses.
class Replica : public nn::Module {
 public:
  using Work = std::function<Tensor(const Tensor& input)>;
  explicit Replica(Work work) : work_(std::move(work)) {}
  Tensor forward(const Tensor& input) override { return work_(input); }
  const char* type_name() const override { return "Replica"; }
  nn::ModulePtr make_like() const override { return std::make_shared<Replica>(work_); }

 private:
  Work work_;
};

/// Returns `count` replicas; replica i computes work(i, input).
inline std::vector<nn::ModulePtr> replicas(
    int count, const std::function<Tensor(int replica, const Tensor& input)>& work) {
  std::vector<nn::ModulePtr> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(std::make_shared<Replica>(
        [work, i](const Tensor& input) { return work(i, input); }));
  }
  return all;
}

/// Returns input i, of i + 1 rows, on device i.
inline std::vector<Tensor> inputs_on(const parallel::Devices& devices) {
  std::vector<Tensor> inputs;
  for (const Device device : devices) {
    const auto rows = static_cast<int64_t>(inputs.size()) + 1;
    inputs.push_back(on(device, counting({rows, 2}, 10.0 * rows)));
  }
  return inputs;
}

/// Counts the calls of hooks, on any thread.
inline std::atomic<int> hooked{0};

inline std::vector<Tensor> run_all(const std::vector<nn::ModulePtr>& all,
                                   const std::vector<Tensor>& inputs) {
  return parallel::primitives().parallel_apply(all, inputs);
}

struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Four replicas, of which 1 and 3 throw, `first` before the other. Replica 0 ends
/// late: when the call has returned or, if that waits for it, after 100 ms.
class TwoFailures {
 public:
  explicit TwoFailures(int first, bool late) : first_(first), over_(!late) {}

  Tensor forward(int replica, const Tensor& input) {
    std::unique_lock lock(mutex_);
    if (replica == 0) {
      changed_.wait_for(lock, std::chrono::milliseconds(100), [&] { return over_; });
    }
    const bool fails = replica == 1 || replica == 3;
    if (fails && replica != first_) {
      changed_.wait_for(lock, std::chrono::seconds(2), [&] { return first_ended_; });
    }
    ++ended_;
    first_ended_ = first_ended_ || replica == first_;
    changed_.notify_all();
    if (fails) {
      throw OutOfMemory(fmt::format("replica {} has no memory left", replica));
    }
    return input;
  }

  /// Lets replica 0 end. Returns how many had ended before.
  int end() {
    const std::scoped_lock lock(mutex_);
    over_ = true;
    changed_.notify_all();
    return ended_;
  }

 private:
  const int first_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_, first_ended_ = false;
  int ended_ = 0;
};

/// Returns all parameters of a small model after three steps on these devices.
inline Numbers trained_on(int count) {
  const parallel::Devices devices = reference_devices(count);
  nn::ConstructionScope scope({.dtype = DType::f64, .seed = 14});
  auto net = std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      std::make_shared<nn::Linear>(6, 5), std::make_shared<nn::ReLU>(),
      std::make_shared<nn::Linear>(5, 3)});
  net->to(devices[0]);
  return three_steps::trained(net, devices, 6, 3);
}

/// Gathers the inputs of a convolution on CPU devices, and runs it and its backward
/// pass. Returns the exception of the latter, or "none".
inline std::string backward_of_a_convolution() {
  const nn::ConstructionScope scope({.dtype = DType::f32, .seed = 14});
  nn::Conv2d layer({.in = 16, .out = 16, .kernel = 3});
  layer.to({DeviceType::cpu, 0});
  std::vector<Tensor> outputs;
  for (int i = 0; i < 2; ++i) {
    const Tensor host = counting({i + 1, 16, 8, 8}, 0, DType::f32);
    const Device device{DeviceType::cpu, i};
    outputs.push_back(on(device, host).detach().set_requires_grad(true));
  }
  const Tensor joined = parallel::primitives().gather(outputs, {DeviceType::cpu, 0});
  const Tensor result = layer(joined);
  std::string failed = "none";
  try {
    autograd::tape_walk()(autograd::gradient_edge(result), ops::full_like(result, 1));
  } catch (const std::runtime_error& error) {
    failed = error.what();
  }
  return failed;
}

}  // namespace lockstep::lessons::lesson_14

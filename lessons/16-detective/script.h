// What lesson 16's training scripts have in common: a small net, pictures, devices.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <source_location>
#include <thread>
#include <vector>

#include "engine/data/loader.h"
#include "engine/nn/layers.h"
#include "engine/ops/copy.h"
#include "engine/parallel/primitives.h"
#include "engine/runtime/device_context.h"
#include "lessons/16-detective/cases.h"
#include "tracer/record/collect.h"
#include "tracer/record/recorder.h"

namespace lockstep::lessons::detective {
namespace keys = tracer::keys;

inline constexpr int kRanks = 3, kDevices = 4, kStages = 3, kMicroBatches = 4;
inline constexpr int64_t kBatch = 8;  ///< per rank
inline constexpr int64_t kPixels = 16, kClasses = 10;

/// Runs the script of three ranks with DistributedDataParallel; returns its trace.
tracer::Trace record_ranks(Fault fault);
/// The script of one process with DataParallel, on four devices.
tracer::Trace record_data_parallel();
/// The script of one process with a pipeline of three stages. Its losses are not
/// scaled.
tracer::Trace record_pipeline();

class Flatten : public nn::Module {
 public:
  Tensor forward(const Tensor& input) override { return ops::flatten(input); }
  const char* type_name() const override { return "Flatten"; }
  nn::ModulePtr make_like() const override { return std::make_shared<Flatten>(); }
};

inline nn::ModulePtr make_net() {
  const auto conv = [](int64_t in, int64_t out) {
    return std::make_shared<nn::Conv2d>(
        nn::Conv2dSettings{.in = in, .out = out, .kernel = 3, .padding = 1});
  };
  const auto pool = [] {
    return std::make_shared<nn::MaxPool2d>(ops::Pool2dOptions{});
  };
  const auto relu = [] { return std::make_shared<nn::ReLU>(); };
  return std::make_shared<nn::Sequential>(std::vector<nn::ModulePtr>{
      conv(3, 16), relu(), pool(), conv(16, 32), relu(), pool(),
      std::make_shared<Flatten>(), std::make_shared<nn::Linear>(512, 512), relu(),
      std::make_shared<nn::Linear>(512, 512), relu(),
      std::make_shared<nn::Linear>(512, kClasses)});
}

/// Noise with labels. A slow disk takes 2 ms per picture.
class Pictures : public data::Dataset {
 public:
  Pictures(int64_t size, bool slow) : size_(size), slow_(slow) {}
  int64_t size() const override { return size_; }
  std::vector<int64_t> sample_shape() const override { return {3, kPixels, kPixels}; }
  int64_t classes() const override { return kClasses; }
  int64_t get(int64_t index, data::Draws& draws,
              std::span<float> image) const override {
    if (slow_) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    for (float& pixel : image) pixel = static_cast<float>(draws.uniform() - 0.5);
    return index % kClasses;
  }

 private:
  int64_t size_;
  bool slow_;
};

struct Inputs {
  Tensor images, labels;  ///< on the host
};

inline Inputs tensors_of(const data::Batch& batch) {
  Inputs inputs{Tensor::empty(Shape(batch.shape), kHost, DType::f32),
                Tensor::empty({batch.size()}, kHost, DType::i64)};
  std::copy(batch.images.begin(), batch.images.end(), inputs.images.data<float>());
  std::copy(batch.labels.begin(), batch.labels.end(), inputs.labels.data<int64_t>());
  return inputs;
}

/// A phase whose place in this file is not recorded.
struct Part : tracer::Phase {
  explicit Part(const char* name) : tracer::Phase(name, std::source_location()) {}
};

inline Device device(int number) { return {DeviceType::reference, number}; }

inline parallel::Devices devices(int count) {
  parallel::Devices all;
  for (int i = 0; i < count; ++i) all.push_back(device(i));
  return all;
}

inline void wait_for_devices(int count) {
  for (int i = 0; i < count; ++i) runtime::context(device(i)).synchronize();
}

/// Adds what `trace check` has to know about a step.
inline void describe(tracer::HostEvent& step, const Inputs& inputs,
                     int64_t output_bytes, const char* input_on,
                     const std::vector<int64_t>& chunks) {
  step.arg({keys::batch, inputs.images.size(0)});
  step.arg({keys::input_bytes, inputs.images.nbytes()});
  step.arg({keys::label_bytes, inputs.labels.nbytes()});
  step.arg({keys::input_on, input_on});
  step.arg({keys::output_bytes, output_bytes});
  step.arg(tracer::Arg::integers(keys::chunks, chunks));
}

inline tracer::RunFacts facts_of(const char* mode, int count, const nn::Module& net,
                                 int world = 1) {
  tracer::RunFacts facts;
  facts.command = "python train.py";
  facts.mode = mode;
  facts.arch = "small CNN";
  for (const Device one : devices(count)) facts.devices.push_back(one.str());
  facts.world_size = world;
  if (world > 1) {
    facts.rank = -1;
    facts.backend = "ring";
  }
  for (const auto& [name, tensor] : net.named_parameters()) {
    facts.tensors.push_back({name,
                             lockstep::name(tensor.dtype()),
                             "parameter",
                             {tensor.sizes().begin(), tensor.sizes().end()},
                             tensor.nbytes()});
  }
  return facts;
}

}  // namespace lockstep::lessons::detective

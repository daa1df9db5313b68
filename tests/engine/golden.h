// Reads PyTorch's golden values (tests/golden/torch) and fills tensors by the rules of
// tests/golden/README.md.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/models/zoo.h"
#include "engine/ops/copy.h"
#include "engine/tensor/philox.h"

namespace lockstep::test {

using Json = nlohmann::json;

inline constexpr uint64_t kGoldenKey = 20261121;

inline Json read_golden(const std::string& name) {
  std::ifstream file(std::string(LOCKSTEP_SOURCE_DIR) + "/tests/golden/torch/" + name);
  if (!file) throw std::runtime_error("no golden file " + name);
  return Json::parse(file);
}

/// 2u − 1 for element i of a stream.
inline double signed_uniform(uint64_t i, uint64_t stream) {
  return 2 * Philox{kGoldenKey}.uniform(i, stream) - 1;
}

inline Tensor signed_tensor(const std::string& stream, const Shape& sizes, double size,
                            DType dtype, double shift = 0) {
  std::vector<double> values(sizes.numel());
  const uint64_t s = fnv1a64(stream);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = shift + size * signed_uniform(i, s);
  }
  return Tensor::from(values, sizes, dtype);
}

inline bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// The golden value of a parameter or buffer.
inline Tensor golden_parameter(const std::string& name, const Shape& sizes,
                               DType dtype) {
  if (sizes.rank() >= 2) {
    const double fan_in = static_cast<double>(sizes.numel()) / sizes[0];
    return signed_tensor(name, sizes, std::sqrt(6 / fan_in), dtype);
  }
  if (ends_with(name, "num_batches_tracked")) return Tensor::scalar(0, DType::i64);
  if (ends_with(name, "running_var")) {
    return signed_tensor(name, sizes, 0.25, dtype, 1.25);
  }
  if (ends_with(name, "weight")) return signed_tensor(name, sizes, 0.2, dtype, 1);
  return signed_tensor(name, sizes, 0.1, dtype);
}

inline void fill_golden(nn::Module& model, DType dtype) {
  for (auto& [name, tensor] : model.named_parameters()) {
    tensor.set_data(golden_parameter(name, tensor.sizes(), dtype));
  }
  for (auto& [name, tensor] : model.named_buffers()) {
    tensor.set_data(golden_parameter(name, tensor.sizes(), dtype));
  }
}

inline Tensor golden_labels(int64_t n, int64_t classes) {
  std::vector<double> values(n);
  for (int64_t i = 0; i < n; ++i) {
    values[i] = std::floor(Philox{kGoldenKey}.uniform(i, fnv1a64("labels")) * classes);
  }
  return Tensor::from(values, {n}, DType::i64);
}

inline std::vector<double> values_of(const Tensor& tensor) {
  const Tensor host = ops::copy_to(tensor.detach(), kHost, {"d2h", "test"});
  std::vector<double> values(host.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    switch (host.dtype()) {
      case DType::f32:
        values[i] = host.data<float>()[i];
        break;
      case DType::f64:
        values[i] = host.data<double>()[i];
        break;
      case DType::i64:
        values[i] = static_cast<double>(host.data<int64_t>()[i]);
        break;
      case DType::u8:
        values[i] = host.data<uint8_t>()[i];
        break;
    }
  }
  return values;
}

/// [norm, dot with the name's own Philox vector, four samples].
inline std::vector<double> fingerprint(const std::string& name, const Tensor& tensor) {
  const std::vector<double> v = values_of(tensor);
  const uint64_t stream = fnv1a64("dot:" + name);
  double squares = 0, dot = 0;
  for (size_t i = 0; i < v.size(); ++i) {
    squares += v[i] * v[i];
    dot += v[i] * signed_uniform(i, stream);
  }
  const size_t n = v.size();
  return {std::sqrt(squares), dot, v[0], v[n / 3], v[n / 2], v[n - 1]};
}

/// Compares fingerprints relative to the tensor's norm.
inline void expect_fingerprint(const std::string& name, const Tensor& tensor,
                               const Json& golden, double tolerance) {
  const std::vector<double> mine = fingerprint(name, tensor);
  const double scale = std::max(std::abs(golden[0].get<double>()), 1e-3);
  for (size_t i = 0; i < mine.size(); ++i) {
    EXPECT_NEAR(mine[i], golden[i].get<double>(), tolerance * scale)
        << name << " entry " << i;
  }
}

inline nn::ModulePtr golden_model(const std::string& net, DType dtype) {
  nn::Construction construction;
  construction.dtype = dtype;
  construction.fill = false;
  nn::ConstructionScope scope(construction);
  models::ZooOptions options;
  options.dropout = 0;
  options.stem =
      net == "resnet18_imagenet" ? models::Stem::imagenet : models::Stem::cifar;
  nn::ModulePtr model =
      models::make(net.rfind("resnet18", 0) == 0 ? "resnet18" : net, options);
  fill_golden(*model, dtype);
  return model;
}

}  // namespace lockstep::test

// Initial values of parameters.
#pragma once

#include "engine/tensor/tensor.h"

namespace lockstep::nn {

/// A distribution of initial values.
struct Init {
  enum class Kind { constant, normal, uniform } kind = Kind::constant;
  double value = 0;  ///< the constant, the standard deviation, or the bound ±value

  static Init constant(double v) { return {Kind::constant, v}; }
  static Init normal(double std) { return {Kind::normal, std}; }
  static Init uniform(double bound) { return {Kind::uniform, bound}; }
  /// He et al. 2015, for layers followed by ReLU: N(0, 2 / fan_out).
  static Init kaiming_normal_fan_out(int64_t fan_out);
  /// PyTorch's default for linear layers: U(±1/√fan_in).
  static Init default_uniform(int64_t fan_in);
};

/// Options of the modules that this thread constructs.
struct Construction {
  DType dtype = DType::f32;
  uint64_t seed = 0;
  bool fill = true;          ///< false: values do not matter (the null device)
  bool skeleton = false;     ///< true: parameters get no memory (replicas)
  uint64_t next_stream = 0;  ///< each parameter draws from a Philox stream of its own
};
Construction& construction();

/// Sets `construction()` until destruction.
class ConstructionScope {
 public:
  explicit ConstructionScope(const Construction& options) : outer_(construction()) {
    construction() = options;
  }
  ~ConstructionScope() { construction() = outer_; }

 private:
  Construction outer_;
};

/// Returns a host tensor with initial values, made with the options of
/// `construction()`.
Tensor initial(const Shape& sizes, const Init& init);

}  // namespace lockstep::nn

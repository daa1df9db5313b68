// Initialization of parameters.
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
  /// For layers followed by ReLU (He et al. 2015): N(0, 2 / fan_out).
  static Init kaiming_normal_fan_out(int64_t fan_out);
  /// PyTorch's default for linear layers: U(±1/√fan_in).
  static Init default_uniform(int64_t fan_in);
};

/// Options for the modules that this thread constructs.
struct Construction {
  DType dtype = DType::f32;
  uint64_t seed = 0;
  bool fill = true;          ///< false: leaves values unset (the null device)
  bool skeleton = false;     ///< true: allocates no memory for parameters (replicas)
  uint64_t next_stream = 0;  ///< next Philox stream; each parameter uses one
};
Construction& construction();

/// Sets `construction()` until destroyed.
class ConstructionScope {
 public:
  explicit ConstructionScope(const Construction& options) : outer_(construction()) {
    construction() = options;
  }
  ~ConstructionScope() { construction() = outer_; }

 private:
  Construction outer_;
};

/// Returns a host tensor filled with initial values, using the options of
/// `construction()`.
Tensor initial(const Shape& sizes, const Init& init);

}  // namespace lockstep::nn

// Element types and reductions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep {

enum class DType : uint8_t { f32, f64, i64, u8 };

/// The operation that reduces elements across tensors (torch.distributed.ReduceOp).
enum class ReduceOp { sum, min, max };

constexpr size_t item_size(DType type) {
  switch (type) {
    case DType::f32:
      return 4;
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::u8:
      return 1;
  }
  return 0;
}

/// Returns PyTorch's name for the type: `float32`, `float64`, `int64` or `uint8`.
constexpr const char* name(DType type) {
  switch (type) {
    case DType::f32:
      return "float32";
    case DType::f64:
      return "float64";
    case DType::i64:
      return "int64";
    case DType::u8:
      return "uint8";
  }
  return "";
}

}  // namespace lockstep

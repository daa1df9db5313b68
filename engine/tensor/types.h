// What describes a tensor besides its values: where its memory is, what its elements
// are, and how they are laid out.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lockstep {

/// `host` is main memory, PyTorch's `cpu`. The others are devices with their own memory
/// and streams. `cpu:0`, `cpu:1`, … are *virtual GPUs* whose kernels run on this
/// machine's cores; `reference` computes the same results with plain loops; `null`
/// computes nothing but records every event; `emulated` computes nothing, either, but
/// takes as long as another device would (engine/runtime/pace.h).
enum class DeviceType { host, cpu, reference, null, cuda, emulated };

/// Returns whether tensors on such a device have values.
constexpr bool computes(DeviceType type) {
  return type != DeviceType::null && type != DeviceType::emulated;
}

struct Device {
  DeviceType type = DeviceType::host;
  int index = 0;

  bool is_host() const { return type == DeviceType::host; }
  auto operator<=>(const Device&) const = default;

  /// Returns the device's id in a trace; −1 denotes the host.
  int trace_id() const { return is_host() ? -1 : index; }

  std::string str() const {
    static const char* const names[] = {"host", "cpu",  "reference",
                                        "null", "cuda", "emulated"};
    std::string type_name = names[static_cast<int>(type)];
    return is_host() ? type_name : type_name + ":" + std::to_string(index);
  }
};

inline constexpr Device kHost{};

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

/// A physical layout chosen by a kernel library, e.g. oneDNN's blocks of 16 channels.
/// Only the backend that created it can interpret it; to all others it is opaque.
/// Equal layouts share one object.
struct Layout {
  virtual ~Layout() = default;
  virtual size_t bytes() const = 0;  ///< of the whole tensor, including padding
  virtual std::string str() const = 0;
};

/// Null means plain row-major.
using LayoutPtr = std::shared_ptr<const Layout>;

}  // namespace lockstep

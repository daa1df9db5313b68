// The location of a tensor's memory.
#pragma once

#include <compare>
#include <string>

namespace lockstep {

/// `host` is main memory, PyTorch's `cpu`. The others are devices with their own memory
/// and streams. `cpu:0`, `cpu:1`, … are *virtual GPUs* whose kernels run on this
/// machine's cores; `reference` computes the same results with plain loops; `null`
/// computes nothing but records every event.
enum class DeviceType { host, cpu, reference, null, cuda };

struct Device {
  DeviceType type = DeviceType::host;
  int index = 0;

  bool is_host() const { return type == DeviceType::host; }
  auto operator<=>(const Device&) const = default;

  /// Returns the device's id in a trace; −1 denotes the host.
  int trace_id() const { return is_host() ? -1 : index; }

  std::string str() const {
    static const char* const names[] = {"host", "cpu", "reference", "null", "cuda"};
    std::string type_name = names[static_cast<int>(type)];
    return is_host() ? type_name : type_name + ":" + std::to_string(index);
  }
};

inline constexpr Device kHost{};

}  // namespace lockstep

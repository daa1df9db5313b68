// Shape errors in PyTorch's words.
#pragma once

#include <fmt/format.h>

#include <stdexcept>

#include "engine/tensor/tensor.h"

namespace lockstep::ops {

/// Throws std::runtime_error with a formatted message unless `condition` holds.
template <typename... Args>
void check(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) {
    throw std::runtime_error(fmt::format(format, std::forward<Args>(args)...));
  }
}

}  // namespace lockstep::ops

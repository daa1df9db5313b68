// Shape errors in PyTorch's words.
#pragma once

#include <fmt/format.h>

#include <stdexcept>

#include "engine/autograd/node.h"

namespace lockstep::ops {

/// Throws std::runtime_error with a formatted message unless `condition` holds.
template <typename... Args>
void check(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) {
    throw std::runtime_error(fmt::format(format, std::forward<Args>(args)...));
  }
}

/// An in-place operation would overwrite what the optimizer is to update.
inline void check_in_place(const Tensor& x) {
  check(!(x.is_leaf() && autograd::needs_history({x})),
        "a leaf Variable that requires grad is being used in an in-place operation.");
}

}  // namespace lockstep::ops

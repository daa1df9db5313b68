// Errors worded like PyTorch's: missing arguments and mismatched shapes.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <stdexcept>
#include <string_view>

#include "engine/autograd/node.h"
#include "engine/tensor/tensor.h"

namespace lockstep::ops {

/// Throws std::runtime_error with a formatted message unless `condition` holds.
template <typename... Args>
void check(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) {
    throw std::runtime_error(fmt::format(format, std::forward<Args>(args)...));
  }
}

/// A tensor argument of an operation, with PyTorch's name for it.
struct Argument {
  const char* name;
  const Tensor& tensor;
};

/// Throws UndefinedTensor if an argument is undefined (Python's None). The arguments
/// must be in PyTorch's order, since the message includes the position.
inline void check_defined(std::string_view op,
                          std::initializer_list<Argument> arguments) {
  int position = 1;
  for (const auto& [name, tensor] : arguments) {
    if (!tensor.defined()) {
      throw UndefinedTensor(
          fmt::format("{}(): argument '{}' (position {}) must be Tensor, not NoneType",
                      op, name, position));
    }
    ++position;
  }
}

/// Throws if `x` is a leaf that an in-place operation must not overwrite.
inline void check_in_place(const Tensor& x) {
  check(!(x.is_leaf() && autograd::needs_history({x})),
        "a leaf Variable that requires grad is being used in an in-place operation.");
}

}  // namespace lockstep::ops

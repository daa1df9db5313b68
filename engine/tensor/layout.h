// How a tensor's elements lie in memory, where that is not plain row-major.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace lockstep {

/// A physical arrangement chosen by a kernel library, e.g. oneDNN's blocks of 16
/// channels. Only the backend that made it can look inside; everybody else carries it
/// along. Equal layouts are the same object.
struct Layout {
  virtual ~Layout() = default;
  virtual size_t bytes() const = 0;  ///< of the whole tensor, padding included
  virtual std::string str() const = 0;
};

/// Null stands for plain row-major.
using LayoutPtr = std::shared_ptr<const Layout>;

}  // namespace lockstep

// Memory layouts other than plain row-major.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace lockstep {

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

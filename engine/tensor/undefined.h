// The exception thrown when an undefined tensor (Python's None) is used.
#pragma once

#include <stdexcept>

namespace lockstep {

struct UndefinedTensor : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace lockstep

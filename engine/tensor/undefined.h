// The exception for using an undefined tensor: Python's None.
#pragma once

#include <stdexcept>

namespace lockstep {

struct UndefinedTensor : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace lockstep

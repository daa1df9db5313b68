// What a command line got wrong.
#pragma once

#include <stdexcept>

namespace lockstep::run {

/// Wrong usage: the program exits with 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace lockstep::run

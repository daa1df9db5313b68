// The error for an invalid command line.
#pragma once

#include <stdexcept>

namespace lockstep::run {

/// Invalid usage: the program exits with code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace lockstep::run

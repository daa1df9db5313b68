// Runs a program that may crash, loop forever or exhaust memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lockstep::lessons {

struct Limits {
  int seconds = 20;                   ///< wall-clock limit, after which SIGQUIT is sent
  int last_words = 2;                 ///< additional seconds to report where it hangs
  int64_t memory = int64_t{8} << 30;  ///< bytes of address space; 0: no limit
  int64_t file = int64_t{1} << 30;    ///< maximum size of a file in bytes
  bool inherit_environment = true;    ///< false: it gets only `environment`
};

struct Ended {
  int exit_code = 0;  ///< 128 + the signal's number if killed by a signal
  bool timed_out = false;
  std::string output;  ///< both streams, the first 64 KiB
};

/// Runs the program `arguments[0]` with `environment` added to ours and `input` as its
/// standard input (−2: empty, as in base/process.h), and waits for it. Then kills all
/// processes that the program has started. Throws std::runtime_error if it cannot be
/// started.
Ended run_contained(const std::vector<std::string>& arguments,
                    const std::map<std::string, std::string>& environment,
                    const Limits& limits, int input = -2);

}  // namespace lockstep::lessons

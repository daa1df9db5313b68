// Limits that the system sets a process: open files, threads, memory.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

namespace lockstep {

/// Raises the limit of open files to `count` if it is lower. Throws std::runtime_error
/// naming the limit and the fix if only an administrator may raise it so far. `what`
/// needs them: "32 ranks".
void require_open_files(uint64_t count, const std::string& what);

/// Returns `error.what()`, and the limits to look at if the system refused a thread.
std::string with_limits(const std::exception& error);

}  // namespace lockstep

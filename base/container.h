// What this process may use: the limits of its cgroups (a container's, for example),
// which core and memory counts do not show, and shared memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace lockstep {

/// A limit as the kernel's files state it. `unknown`: they could not be read.
struct Limit {
  enum class State : uint8_t { unknown, none, set };
  State state = State::unknown;
  double value = 0;  ///< if set
};

struct SharedMemorySpace {
  int64_t size = 0, free = 0;  ///< bytes
};

struct ContainerLimits {
  Limit cpus;    ///< seconds of CPU time per second, for all threads together
  Limit memory;  ///< bytes
  std::optional<SharedMemorySpace> shared;  ///< of /dev/shm
};

/// Reads cgroup v2 (`cpu.max`, `memory.max`) and v1 (`cpu.cfs_quota_us`,
/// `memory.limit_in_bytes`); the limits of enclosing groups count, too. `root` is "/",
/// or a copy of its files. Never throws.
ContainerLimits read_limits(const std::filesystem::path& root = "/");

/// Returns the number of cores that this process may run on: `taskset` and a
/// container's `--cpuset-cpus` lower it.
int visible_cores();
/// Returns the number of cores that threads of this process can keep busy: those it
/// may run on, or fewer if a CPU quota allows fewer (rounded up).
int usable_cores();
int usable_cores(int visible, const Limit& cpus);

/// Describe what a limit means for `--workers` and threads; `doctor` prints the text.
std::string describe_cpus(const Limit& cpus, int visible);
std::string describe_memory(const Limit& memory);
std::string describe_shared(const std::optional<SharedMemorySpace>& shared);

}  // namespace lockstep

#include "base/container.h"

#include <sched.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>
#include <vector>

#include "base/units.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using State = Limit::State;

/// cgroup v1 reports "no limit" as the largest multiple of the page size.
constexpr double kNoMemoryLimit = 9e18;

std::optional<double> number(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  const bool whole = read.ec == std::errc() && read.ptr == end;
  return whole ? std::optional(value) : std::nullopt;
}

/// Returns the words of a file; none if it cannot be read.
std::vector<std::string> words(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> all;
  for (std::string word; file >> word;) all.push_back(word);
  return all;
}

Limit none() { return {State::none, 0}; }

Limit at_least_zero(std::optional<double> value) {
  if (!value || *value < 0) return {};
  return {State::set, *value};
}

/// `cpu.max`: "max 100000" or "200000 100000".
Limit cpus_v2(const fs::path& group) {
  if (!fs::exists(group / "cpu.max")) return none();  // not limited at this level
  const auto file = words(group / "cpu.max");
  if (file.size() != 2) return {};
  if (file[0] == "max") return none();
  const auto quota = number(file[0]), period = number(file[1]);
  if (!quota || !period || *period <= 0) return {};
  return at_least_zero(*quota / *period);
}

Limit memory_v2(const fs::path& group) {
  if (!fs::exists(group / "memory.max")) return none();
  const auto file = words(group / "memory.max");
  if (file.size() != 1) return {};
  return file[0] == "max" ? none() : at_least_zero(number(file[0]));
}

/// `cpu.cfs_quota_us`: −1 for none.
Limit cpus_v1(const fs::path& group) {
  if (!fs::exists(group / "cpu.cfs_quota_us")) return none();
  const auto quota_file = words(group / "cpu.cfs_quota_us");
  const auto period_file = words(group / "cpu.cfs_period_us");
  if (quota_file.size() != 1 || period_file.size() != 1) return {};
  const auto quota = number(quota_file[0]), period = number(period_file[0]);
  if (!quota || !period || *period <= 0) return {};
  return *quota < 0 ? none() : at_least_zero(*quota / *period);
}

Limit memory_v1(const fs::path& group) {
  if (!fs::exists(group / "memory.limit_in_bytes")) return none();
  const auto file = words(group / "memory.limit_in_bytes");
  if (file.size() != 1) return {};
  const auto bytes = number(file[0]);
  return bytes && *bytes > kNoMemoryLimit ? none() : at_least_zero(bytes);
}

Limit stricter(const Limit& a, const Limit& b) {
  if (a.state == State::set && b.state == State::set) return a.value < b.value ? a : b;
  if (a.state == State::set || b.state == State::set) {
    return a.state == State::set ? a : b;
  }
  return a.state == State::unknown ? a : b;
}

/// Returns the strictest limit of a group and of those that enclose it. If the path
/// does not exist, as in a container that sees only its own group, returns the limit of
/// the root.
template <typename Read>
Limit strictest(const fs::path& mount, std::string path, Read read) {
  if (!fs::is_directory(mount)) return {};
  if (!fs::is_directory(mount / fs::path(path).relative_path())) path = "/";
  Limit limit = read(mount);
  fs::path group = mount;
  for (const fs::path& part : fs::path(path).relative_path()) {
    group /= part;
    limit = stricter(limit, read(group));
  }
  return limit;
}

/// Returns the paths of this process's groups by controller; "" stands for v2.
std::map<std::string, std::string> groups_of(const fs::path& root) {
  std::map<std::string, std::string> groups;
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // 4:cpu,cpuacct:/docker/1a2b
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    std::istringstream names(line.substr(first + 1, second - first - 1));
    const std::string path = line.substr(second + 1);
    if (second == first + 1) groups[""] = path;
    for (std::string name; std::getline(names, name, ',');) groups[name] = path;
  }
  return groups;
}

/// v1 mounts a controller under its own name, or together with others.
fs::path mount_v1(const fs::path& all, const std::string& controller) {
  if (controller == "cpu" && !fs::exists(all / "cpu")) return all / "cpu,cpuacct";
  return all / controller;
}

/// Returns where cgroup v2 is mounted, whether alone or beside v1.
fs::path mount_v2(const fs::path& all) {
  return fs::exists(all / "cgroup.controllers") ? all : all / "unified";
}

std::optional<SharedMemorySpace> shared_memory(const fs::path& folder) {
  struct statvfs info{};
  if (::statvfs(folder.c_str(), &info) != 0) return std::nullopt;
  const auto block = static_cast<int64_t>(info.f_frsize);
  return SharedMemorySpace{static_cast<int64_t>(info.f_blocks) * block,
                           static_cast<int64_t>(info.f_bavail) * block};
}

std::string count_of(double cpus) {
  std::ostringstream text;
  text.precision(3);
  text << cpus;
  return text.str() + (cpus == 1 ? " CPU" : " CPUs");
}

}  // namespace

ContainerLimits read_limits(const fs::path& root) {
  ContainerLimits limits;
  limits.shared = shared_memory(root / "dev/shm");
  const auto groups = groups_of(root);
  const fs::path all = root / "sys/fs/cgroup";
  try {
    if (const auto v1 = groups.find("cpu"); v1 != groups.end()) {
      limits.cpus = strictest(mount_v1(all, "cpu"), v1->second, cpus_v1);
    } else if (const auto v2 = groups.find(""); v2 != groups.end()) {
      limits.cpus = strictest(mount_v2(all), v2->second, cpus_v2);
    }
    if (const auto v1 = groups.find("memory"); v1 != groups.end()) {
      limits.memory = strictest(mount_v1(all, "memory"), v1->second, memory_v1);
    } else if (const auto v2 = groups.find(""); v2 != groups.end()) {
      limits.memory = strictest(mount_v2(all), v2->second, memory_v2);
    }
  } catch (const fs::filesystem_error&) {  // not readable: unknown
  }
  return limits;
}

int usable_cores(int visible, const Limit& cpus) {
  if (cpus.state != State::set || cpus.value >= visible) return visible;
  return std::max(1, static_cast<int>(std::ceil(cpus.value)));
}

int visible_cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    return std::max(1, CPU_COUNT(&set));
  }
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

int usable_cores() {
  static const int cores = usable_cores(visible_cores(), read_limits().cpus);
  return cores;
}

std::string describe_cpus(const Limit& cpus, int visible) {
  if (cpus.state == State::unknown) return "unknown: no cgroup file could be read";
  if (cpus.state == State::none) return "none: all visible cores can be used";
  const std::string quota = count_of(cpus.value);
  const std::string cores =
      std::to_string(visible) + " visible core" + (visible == 1 ? "" : "s");
  if (cpus.value >= visible) return quota + ", not fewer than the " + cores;
  return quota + " of " + cores +
         ": threads that use more are stopped until the next period; lockstep "
         "computes with " +
         std::to_string(usable_cores(visible, cpus)) +
         ", and --workers should be at most " +
         std::to_string(std::max(1, static_cast<int>(cpus.value)));
}

std::string describe_memory(const Limit& memory) {
  if (memory.state == State::unknown) return "unknown: no cgroup file could be read";
  if (memory.state == State::none) return "none besides the machine's memory";
  return human_bytes(static_cast<int64_t>(memory.value)) +
         ": a process that needs more is killed; each worker (--workers) keeps up to "
         "2 batches in it";
}

std::string describe_shared(const std::optional<SharedMemorySpace>& shared) {
  if (!shared) return "unknown: /dev/shm cannot be read";
  return human_bytes(shared->size) + ", " + human_bytes(shared->free) +
         " free; --workers are threads and use none of it (PyTorch's are processes "
         "and pass batches through it; NCCL's ranks use it, too)";
}

}  // namespace lockstep

#include "base/limits.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <stdexcept>
#include <system_error>

namespace lockstep {
namespace {

std::string shown(rlim_t limit, rlim_t unit) {
  return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit / unit);
}

std::string soft_limit(__rlimit_resource resource, rlim_t unit) {
  rlimit limit{};
  ::getrlimit(resource, &limit);
  return shown(limit.rlim_cur, unit);
}

}  // namespace

void require_open_files(uint64_t count, const std::string& what) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return;
  if (limit.rlim_max < count) {
    throw std::runtime_error(fmt::format(
        "{} need about {} open files, and the limit is {}; fix: ulimit -n {}, which an "
        "administrator may have to allow",
        what, count, shown(limit.rlim_max, 1), count));
  }
  limit.rlim_cur = count;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::string with_limits(const std::exception& error) {
  const auto* refused = dynamic_cast<const std::system_error*>(&error);
  if (!refused || refused->code() != std::errc::resource_unavailable_try_again) {
    return error.what();
  }
  return fmt::format(
      "the system starts no more threads or processes ({}); limits: {} processes and "
      "threads of "
      "this "
      "user (ulimit -u), {} KiB of address space (ulimit -v), and a container's "
      "pids.max; fix: raise what is too low, or use fewer --devices",
      error.what(), soft_limit(RLIMIT_NPROC, 1), soft_limit(RLIMIT_AS, 1024));
}

}  // namespace lockstep

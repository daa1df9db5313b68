#include "engine/plan/coalesce.h"

namespace lockstep::plan {

std::vector<Group> coalesce_broadcast(const std::vector<int64_t>& bytes,
                                      int64_t limit) {
  std::vector<Group> groups;
  int64_t open_bytes = limit;  // "full", so that the first tensor opens a group
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (open_bytes >= limit) {
      groups.emplace_back();
      open_bytes = 0;
    }
    groups.back().push_back(i);
    open_bytes += bytes[i];
  }
  return groups;
}

std::vector<Group> coalesce_reduce(const std::vector<int64_t>& bytes, int64_t limit) {
  std::vector<Group> groups;
  int64_t open_bytes = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (groups.empty() || (open_bytes > 0 && open_bytes + bytes[i] > limit)) {
      groups.emplace_back();
      open_bytes = 0;
    }
    groups.back().push_back(i);
    open_bytes += bytes[i];
  }
  return groups;
}

}  // namespace lockstep::plan

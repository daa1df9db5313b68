// rejected by: own_code
// because: must be written, not called
//
// The engine's plan knows the groups.

// [top]
#include "engine/plan/coalesce.h"
// [/top]
// [solution-groups]
std::vector<size_t> groups;
for (const auto& group : plan::coalesce_reduce(bytes, limit)) {
  groups.push_back(group.size());
}
return groups;
// [/solution-groups]

// rejected by: groups_alone
// because: a group of exactly the limit is allowed
//
// The misconception (a slip): a group that would be full is too large.

// [solution-groups]
std::vector<size_t> groups;
int64_t open = 0;
for (int64_t size : bytes) {
  if (groups.empty() || open + size >= limit) {
    groups.push_back(0);
    open = 0;
  }
  ++groups.back();
  open += size;
}
return groups;
// [/solution-groups]

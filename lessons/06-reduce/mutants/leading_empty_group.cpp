// rejected by: groups_alone
// because: an empty group would be an empty message
//
// The misconception: there is always an open group, even before the first tensor.

// [solution-groups]
std::vector<size_t> groups{0};
int64_t open = 0;
for (int64_t size : bytes) {
  if (open + size > limit) {
    groups.push_back(0);
    open = 0;
  }
  ++groups.back();
  open += size;
}
return groups;
// [/solution-groups]

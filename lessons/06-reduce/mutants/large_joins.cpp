// rejected by: large_tensor
// because: begins a group of its own
//
// The misconception: a tensor above the limit exceeds it anyway, so it may as well join
// the open group.

// [solution-groups]
std::vector<size_t> groups;
int64_t open = 0;
for (int64_t size : bytes) {
  if (groups.empty() || (open + size > limit && size <= limit)) {
    groups.push_back(0);
    open = 0;
  }
  ++groups.back();
  open += size;
}
return groups;
// [/solution-groups]

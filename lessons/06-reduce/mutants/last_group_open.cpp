// rejected by: sums_on_device_0
// because: the last group is never closed
//
// The misconception (a slip): a group is noted when the next one begins.

// [solution-groups]
std::vector<size_t> groups;
size_t count = 0;
int64_t open = 0;
for (int64_t size : bytes) {
  if (count > 0 && open + size > limit) {
    groups.push_back(count);
    count = 0;
    open = 0;
  }
  ++count;
  open += size;
}
return groups;
// [/solution-groups]

// rejected by: few_messages
// because: closed before the tensor
//
// The misconception: a group is closed once it is full (the rule of broadcast, whose
// groups overshoot).

// [solution-groups]
std::vector<size_t> groups;
int64_t open = limit;
for (int64_t size : bytes) {
  if (open >= limit) {
    groups.push_back(0);
    open = 0;
  }
  ++groups.back();
  open += size;
}
return groups;
// [/solution-groups]

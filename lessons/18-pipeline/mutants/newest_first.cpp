// rejected by: as_fast
// because: must go back first
//
// The misconception: the newest activations are the ones to use, as on a stack.

// [solution-1f1b]
Order order;
const int first = ranks - rank;
std::vector<int> live;
for (int m = 0; m < first; ++m) {
  order.push_back({rank, F, m});
  live.push_back(m);
}
for (int next = first; !live.empty(); ++next) {
  order.push_back({rank, B, live.back()});
  live.pop_back();
  if (next >= micro_batches) continue;
  order.push_back({rank, F, next});
  live.push_back(next);
}
return order;
// [/solution-1f1b]

// rejected by: can_run
// because: a rank waits for its neighbours
//
// The misconception: the last rank is the one that runs ahead.

// [solution-1f1b]
Order order;
const int first = rank + 1;
for (int m = 0; m < first; ++m) order.push_back({rank, F, m});
for (int m = 0; m < micro_batches; ++m) {
  order.push_back({rank, B, m});
  if (first + m < micro_batches) order.push_back({rank, F, first + m});
}
return order;
// [/solution-1f1b]

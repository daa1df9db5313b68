// rejected by: can_run
// because: goes forward once and back once
//
// The misconception: when there is nothing left to go forward, the step is over.

// [solution-1f1b]
Order order;
const int first = ranks - rank;
for (int m = 0; m < first; ++m) order.push_back({rank, F, m});
for (int m = 0; first + m < micro_batches; ++m) {
  order.push_back({rank, B, m});
  order.push_back({rank, F, first + m});
}
return order;
// [/solution-1f1b]

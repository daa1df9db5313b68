// rejected by: eager_live
// because: there is nothing else to run
//
// The misconception: there are always enough micro-batches.

// [solution-eager]
Order order;
const int first = 2 * (ranks - rank) - 1;
for (int m = 0; m < first; ++m) order.push_back({rank, F, m});
for (int m = 0; m < micro_batches; ++m) {
  order.push_back({rank, B, m});
  if (first + m < micro_batches) order.push_back({rank, F, first + m});
}
return order;
// [/solution-eager]

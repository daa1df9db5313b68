// rejected by: eager_live
// because: no more
//
// The misconception: as many as possible, which is GPipe with another name.

// [solution-eager]
Order order;
const int first = micro_batches;
for (int m = 0; m < first; ++m) order.push_back({rank, F, m});
for (int m = 0; m < micro_batches; ++m) {
  order.push_back({rank, B, m});
  if (first + m < micro_batches) order.push_back({rank, F, first + m});
}
return order;
// [/solution-eager]

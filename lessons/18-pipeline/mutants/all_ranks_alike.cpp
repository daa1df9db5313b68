// rejected by: few_live
// because: a forward pass too many
//
// The misconception: every rank begins with as many forward passes as there are ranks.

// [solution-1f1b]
Order order;
const int first = ranks;
for (int m = 0; m < first; ++m) order.push_back({rank, F, m});
for (int m = 0; m < micro_batches; ++m) {
  order.push_back({rank, B, m});
  if (first + m < micro_batches) order.push_back({rank, F, first + m});
}
return order;
// [/solution-1f1b]

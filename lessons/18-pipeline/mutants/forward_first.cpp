// rejected by: few_live
// because: a forward pass too many
//
// The misconception: after ranks - rank forward passes, the pairs begin with a forward
// pass.

// [solution-1f1b]
Order order;
const int first = ranks - rank;
for (int m = 0; m < first; ++m) order.push_back({rank, F, m});
for (int m = 0; m < micro_batches; ++m) {
  if (first + m < micro_batches) order.push_back({rank, F, first + m});
  order.push_back({rank, B, m});
}
return order;
// [/solution-1f1b]

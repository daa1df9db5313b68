// rejected by: few_live
// because: a forward pass too many
//
// The misconception: the bubble is the same, so the order is.

// [solution-1f1b]
Order order;
for (int m = 0; m < micro_batches; ++m) order.push_back({rank, F, m});
for (int m = 0; m < micro_batches; ++m) order.push_back({rank, B, m});
return order;
// [/solution-1f1b]

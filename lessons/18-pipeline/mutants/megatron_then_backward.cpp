// rejected by: can_run
// because: even the last rank begins with a forward pass
//
// The misconception: Megatron's P - rank - 1 warm-up passes are all that come before the
// first backward pass. Megatron's next pass is another forward one.

// [solution-1f1b]
Order order;
const int first = ranks - rank - 1;
for (int m = 0; m < first; ++m) order.push_back({rank, F, m});
for (int m = 0; m < micro_batches; ++m) {
  order.push_back({rank, B, m});
  if (first + m < micro_batches) order.push_back({rank, F, first + m});
}
return order;
// [/solution-1f1b]

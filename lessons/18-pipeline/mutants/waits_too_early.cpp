// rejected by: as_fast
// because: too few for
//
// The misconception: Megatron's P - rank - 1 warm-up passes, followed by a backward
// pass instead of a forward one.

// [solution-1f1b]
Order order;
const int first = std::max(1, ranks - rank - 1);
for (int m = 0; m < first; ++m) order.push_back({rank, F, m});
for (int m = 0; m < micro_batches; ++m) {
  order.push_back({rank, B, m});
  if (first + m < micro_batches) order.push_back({rank, F, first + m});
}
return order;
// [/solution-1f1b]

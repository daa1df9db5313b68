// rejected by: eager_order
// because: all forward passes come first
//
// The misconception: one micro-batch must be left for the turns.

// [solution-eager]
Order order;
const int first = std::max(1, std::min(2 * (ranks - rank) - 1, micro_batches - 1));
for (int m = 0; m < first; ++m) order.push_back({rank, F, m});
for (int m = 0; m < micro_batches; ++m) {
  order.push_back({rank, B, m});
  if (first + m < micro_batches) order.push_back({rank, F, first + m});
}
return order;
// [/solution-eager]

// rejected by: eager_order
// because: forward passes come first
//
// The misconception: where there are fewer micro-batches than room, 1F1B is meant.

// [solution-eager]
int first = 2 * (ranks - rank) - 1;
if (2 * ranks - 1 > micro_batches) first = ranks - rank;
Order order;
for (int m = 0; m < first; ++m) order.push_back({rank, F, m});
for (int m = 0; m < micro_batches; ++m) {
  order.push_back({rank, B, m});
  if (first + m < micro_batches) order.push_back({rank, F, first + m});
}
return order;
// [/solution-eager]

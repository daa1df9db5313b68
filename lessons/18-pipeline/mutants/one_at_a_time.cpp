// rejected by: as_fast
// because: too few for
//
// The misconception: 1F1B means one forward, one backward, from the beginning.

// [solution-1f1b]
Order order;
for (int m = 0; m < micro_batches; ++m) {
  order.push_back({rank, F, m});
  order.push_back({rank, B, m});
}
return order;
// [/solution-1f1b]

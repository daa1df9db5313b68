// rejected by: as_fast
// because: two of a kind in a row
//
// The misconception: only the number of live micro-batches matters, so passes may be run
// in pairs of the same kind.

// [solution-1f1b]
Order order;
int forward = 0, backward = 0;
while (forward < ranks - rank) order.push_back({rank, F, forward++});
while (backward < micro_batches) {
  for (int i = 0; i < 2 && backward < forward; ++i) {
    order.push_back({rank, B, backward++});
  }
  while (forward < micro_batches && forward - backward < ranks - rank) {
    order.push_back({rank, F, forward++});
  }
}
return order;
// [/solution-1f1b]

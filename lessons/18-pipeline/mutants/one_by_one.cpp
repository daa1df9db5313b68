// rejected by: all_forward_first
// because: comes after the last forward pass
//
// The misconception: each micro-batch makes its whole way before the next one.

// [solution-gpipe]
Order order;
for (int m = 0; m < micro_batches; ++m) {
  order.push_back({rank, F, m});
  order.push_back({rank, B, m});
}
return order;
// [/solution-gpipe]

// rejected by: all_forward_first
// because: the first micro-batch has waited longest
//
// The misconception: backward is the reverse, so the last micro-batch goes back first
// (as in the paper; PyTorch goes from the first).

// [solution-gpipe]
Order order;
for (int m = 0; m < micro_batches; ++m) order.push_back({rank, F, m});
for (int m = micro_batches - 1; m >= 0; --m) order.push_back({rank, B, m});
return order;
// [/solution-gpipe]

// rejected by: all_forward_first
// because: the stage of rank r is r
//
// The misconception: a rank's own stage is its stage 0.

// [solution-gpipe]
Order order;
for (int m = 0; m < micro_batches; ++m) order.push_back({0, F, m});
for (int m = 0; m < micro_batches; ++m) order.push_back({0, B, m});
return order;
// [/solution-gpipe]

// rejected by: price_of_a_link
// because: waits for the
//
// The misconception: links cost the same in every order.

// [solution-eager]
Order order;
const int first = ranks - rank;
for (int m = 0; m < first; ++m) order.push_back({rank, F, m});
for (int m = 0; m < micro_batches; ++m) {
  order.push_back({rank, B, m});
  if (first + m < micro_batches) order.push_back({rank, F, first + m});
}
return order;
// [/solution-eager]

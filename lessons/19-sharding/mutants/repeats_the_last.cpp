// rejected by: every_sample
// because: before the order has ended
//
// The misconception: padding repeats the last sample.

// [top]
#include <algorithm>
// [/top]

// [solution-indices]
std::vector<int64_t> order(share_.length);
for (int64_t i = 0; i < share_.length; ++i) order[i] = i;
if (share_.shuffle) {
  order = data::RandomSampler(share_.length, share_.seed).indices(epoch_);
}
std::vector<int64_t> mine;
for (int64_t k = 0; k < size(); ++k) {
  const int64_t position = share_.rank + k * share_.world;
  mine.push_back(order[std::min(position, share_.length - 1)]);
}
return mine;
// [/solution-indices]

// rejected by: shuffled_first
// because: padding repeats the shuffled order
//
// The misconception: padding consists of samples 0, 1, 2, …, also if the order is
// shuffled.
// [solution-indices]
std::vector<int64_t> order(share_.length);
for (int64_t i = 0; i < share_.length; ++i) order[i] = i;
if (share_.shuffle) {
  order = data::RandomSampler(share_.length, share_.seed).indices(epoch_);
}
std::vector<int64_t> mine;
for (int64_t k = 0; k < size(); ++k) {
  const int64_t position = share_.rank + k * share_.world;
  mine.push_back(position < share_.length ? order[position] : position % share_.length);
}
return mine;
// [/solution-indices]

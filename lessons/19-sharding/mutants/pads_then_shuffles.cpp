// rejected by: shuffled_first
// because: positions of the shuffled order
//
// The misconception: it does not matter whether one pads first. Then a sample may be
// read twice by one rank, and which position is padding is no longer known.

// [solution-indices]
const int64_t total = size() * share_.world;
std::vector<int64_t> order(total);
for (int64_t i = 0; i < total; ++i) order[i] = i;
if (share_.shuffle) order = data::RandomSampler(total, share_.seed).indices(epoch_);
std::vector<int64_t> mine;
for (int64_t k = 0; k < size(); ++k) {
  mine.push_back(order[share_.rank + k * share_.world] % share_.length);
}
return mine;
// [/solution-indices]

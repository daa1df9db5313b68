// rejected by: padding
// because: begins again where it ends
//
// The misconception: each rank repeats its own first sample. With fewer samples than
// ranks, a rank has none that it could repeat.

// [solution-indices]
std::vector<int64_t> order(share_.length);
for (int64_t i = 0; i < share_.length; ++i) order[i] = i;
if (share_.shuffle) {
  order = data::RandomSampler(share_.length, share_.seed).indices(epoch_);
}
std::vector<int64_t> mine;
for (int64_t k = 0; k < size(); ++k) {
  const int64_t position = share_.rank + k * share_.world;
  mine.push_back(
      order[position < share_.length ? position : share_.rank % share_.length]);
}
return mine;
// [/solution-indices]

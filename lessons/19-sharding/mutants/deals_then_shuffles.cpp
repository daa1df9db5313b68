// rejected by: shuffled_first
// because: gives a rank the same samples in all epochs
//
// The misconception: each rank shuffles its own part. It then never sees another
// rank's samples.

// [solution-indices]
std::vector<int64_t> mine;
for (int64_t k = 0; k < size(); ++k) {
  mine.push_back((share_.rank + k * share_.world) % share_.length);
}
if (!share_.shuffle) return mine;
std::vector<int64_t> shuffled;
for (const int64_t i : data::RandomSampler(size(), share_.seed).indices(epoch_)) {
  shuffled.push_back(mine[i]);
}
return shuffled;
// [/solution-indices]

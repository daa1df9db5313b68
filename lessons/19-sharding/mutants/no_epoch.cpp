// rejected by: by_epoch
// because: is what `set_epoch` was told
//
// The misconception (pytorch#31771): shuffling once means shuffling in every epoch.

// [solution-indices]
std::vector<int64_t> order(share_.length);
for (int64_t i = 0; i < share_.length; ++i) order[i] = i;
if (share_.shuffle) {
  order = data::RandomSampler(share_.length, share_.seed).indices(0);
}
std::vector<int64_t> mine;
for (int64_t k = 0; k < size(); ++k) {
  mine.push_back(order[(share_.rank + k * share_.world) % share_.length]);
}
return mine;
// [/solution-indices]

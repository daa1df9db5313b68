// rejected by: as_many
// because: as many samples as `size` says
//
// The misconception (pytorch#22584): a rank can just have one sample less.

// [solution-indices]
std::vector<int64_t> order(share_.length);
for (int64_t i = 0; i < share_.length; ++i) order[i] = i;
if (share_.shuffle) {
  order = data::RandomSampler(share_.length, share_.seed).indices(epoch_);
}
std::vector<int64_t> mine;
for (int64_t k = 0; k < size(); ++k) {
  const int64_t position = share_.rank + k * share_.world;
  if (position < share_.length) mine.push_back(order[position]);
}
return mine;
// [/solution-indices]

// rejected by: dealt
// because: the ranks take turns
//
// The misconception: rank r gets the r-th block, as scatter does with a batch.

// [solution-indices]
std::vector<int64_t> order(share_.length);
for (int64_t i = 0; i < share_.length; ++i) order[i] = i;
if (share_.shuffle) {
  order = data::RandomSampler(share_.length, share_.seed).indices(epoch_);
}
std::vector<int64_t> mine;
for (int64_t k = 0; k < size(); ++k) {
  mine.push_back(order[(share_.rank * size() + k) % share_.length]);
}
return mine;
// [/solution-indices]

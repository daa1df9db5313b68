// rejected by: one_order
// because: the rank must not be in the seed
//
// The misconception (of many scripts): `seed + rank` for everything that is random.
// Some samples are then read by two ranks, and others by none.

// [solution-indices]
std::vector<int64_t> order(share_.length);
for (int64_t i = 0; i < share_.length; ++i) order[i] = i;
if (share_.shuffle) {
  const uint64_t seed = share_.seed + share_.rank;
  order = data::RandomSampler(share_.length, seed).indices(epoch_);
}
std::vector<int64_t> mine;
for (int64_t k = 0; k < size(); ++k) {
  mine.push_back(order[(share_.rank + k * share_.world) % share_.length]);
}
return mine;
// [/solution-indices]

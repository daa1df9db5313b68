// rejected by: by_epoch
// because: asking is not an epoch
//
// The misconception (proposed in pytorch#11324): the sampler can count its epochs
// itself, whenever it is asked.

// [solution-indices]
std::vector<int64_t> order(share_.length);
for (int64_t i = 0; i < share_.length; ++i) order[i] = i;
if (share_.shuffle) {
  order = data::RandomSampler(share_.length, share_.seed).indices(epoch_);
}
std::vector<int64_t> mine;
++const_cast<Shard*>(this)->epoch_;
for (int64_t k = 0; k < size(); ++k) {
  mine.push_back(order[(share_.rank + k * share_.world) % share_.length]);
}
return mine;
// [/solution-indices]

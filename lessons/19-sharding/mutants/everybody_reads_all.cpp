// rejected by: as_many
// because: divided by the number of ranks
//
// The misconception: without doing anything, DDP divides the data.

// [solution-size]
return share_.length;
// [/solution-size]

// [solution-indices]
std::vector<int64_t> order(share_.length);
for (int64_t i = 0; i < share_.length; ++i) order[i] = i;
if (share_.shuffle) {
  order = data::RandomSampler(share_.length, share_.seed).indices(epoch_);
}
std::vector<int64_t> mine;
mine = order;
return mine;
// [/solution-indices]

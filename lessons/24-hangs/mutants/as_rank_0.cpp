// rejected by: uneven
// because: they must agree on one
//
// The misconception: rank 0 says how many. Another rank may have fewer.

// [solution-epoch]
const double of_rank_0 = group.rank == 0 ? static_cast<double>(batches.size()) : 0;
const auto steps = static_cast<size_t>(group.sum(of_rank_0));
for (size_t i = 0; i < std::min(steps, batches.size()); ++i) model.step(batches[i]);
return;
// [/solution-epoch]

// rejected by: counts_once
// because: sum the counts, then divide
//
// The misconception: the mean of the ranks' accuracies is the accuracy.

// [solution-accuracy]
std::vector<double> counts{0, 0};
for (size_t k = 0; k < correct.size(); ++k) {
  const int64_t position =
      shard.share().rank + static_cast<int64_t>(k) * shard.share().world;
  if (position >= shard.share().length) continue;
  counts[0] += correct[k];
  counts[1] += 1;
}
std::vector<double> mean{counts[1] > 0 ? counts[0] / counts[1] : 0};
sum(mean);
return mean[0] / shard.share().world;
// [/solution-accuracy]

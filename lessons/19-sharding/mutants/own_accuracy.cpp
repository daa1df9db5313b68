// rejected by: counts_once
// because: own accuracy
//
// The misconception: rank 0 prints, so its accuracy is the model's.

// [solution-accuracy]
std::vector<double> counts{0, 0};
for (size_t k = 0; k < correct.size(); ++k) {
  const int64_t position =
      shard.share().rank + static_cast<int64_t>(k) * shard.share().world;
  if (position >= shard.share().length) continue;
  counts[0] += correct[k];
  counts[1] += 1;
}
(void)sum;
return counts[0] / counts[1];
// [/solution-accuracy]

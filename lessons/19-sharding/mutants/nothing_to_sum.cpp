// rejected by: only_padding
// because: a rank that has only padding must call it, too
//
// The misconception: a rank that has nothing to add need not take part.

// [solution-accuracy]
std::vector<double> counts{0, 0};
for (size_t k = 0; k < correct.size(); ++k) {
  const int64_t position =
      shard.share().rank + static_cast<int64_t>(k) * shard.share().world;
  if (position >= shard.share().length) continue;
  counts[0] += correct[k];
  counts[1] += 1;
}
if (counts[1] == 0) return 0;
sum(counts);
return counts[0] / counts[1];
// [/solution-accuracy]

// rejected by: only_padding
// because: counts no sample
//
// The misconception: a rank without samples must set its count to one to avoid a division
// by zero. But what is divided is the sum.
// [solution-accuracy]
std::vector<double> counts{0, 0};
for (size_t k = 0; k < correct.size(); ++k) {
  const int64_t position =
      shard.share().rank + static_cast<int64_t>(k) * shard.share().world;
  if (position >= shard.share().length) continue;
  counts[0] += correct[k];
  counts[1] += 1;
}
if (counts[1] == 0) counts[1] = 1;
sum(counts);
return counts[0] / counts[1];
// [/solution-accuracy]

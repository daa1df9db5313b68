// rejected by: counts_once
// because: can exceed 1
//
// The misconception: dividing by the length of the data set makes up for padding.

// [solution-accuracy]
std::vector<double> counts{0};
for (const int one : correct) counts[0] += one;
sum(counts);
return counts[0] / static_cast<double>(shard.share().length);
// [/solution-accuracy]

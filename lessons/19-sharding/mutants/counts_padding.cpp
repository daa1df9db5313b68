// rejected by: counts_once
// because: padding counts here
//
// The misconception (pytorch#25162, vision#4559): a mean over all that was evaluated
// is the accuracy.

// [solution-accuracy]
std::vector<double> counts{0, static_cast<double>(correct.size())};
for (const int one : correct) counts[0] += one;
(void)shard;
sum(counts);
return counts[0] / counts[1];
// [/solution-accuracy]

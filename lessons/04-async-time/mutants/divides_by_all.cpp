// rejected by: per_call
// because: not by all calls ever made
//
// The misconception: all calls count.

// [solution-benchmark]
for (int i = 0; i < 3; ++i) enqueue();
runtime::context(device).synchronize();
const double start = now();
for (int i = 0; i < calls; ++i) enqueue();
runtime::context(device).synchronize();
return (now() - start) / (calls + 3);
// [/solution-benchmark]

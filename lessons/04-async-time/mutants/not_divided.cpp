// rejected by: per_call
// because: divided by `calls`
//
// The misconception: the time of the loop is the time of a call.

// [solution-benchmark]
for (int i = 0; i < 3; ++i) enqueue();
runtime::context(device).synchronize();
const double start = now();
for (int i = 0; i < calls; ++i) enqueue();
runtime::context(device).synchronize();
return now() - start;
// [/solution-benchmark]

// rejected by: warms_up
// because: count none of them
//
// The misconception: all calls are alike.

// [solution-benchmark]
runtime::context(device).synchronize();
const double start = now();
for (int i = 0; i < calls; ++i) enqueue();
runtime::context(device).synchronize();
return (now() - start) / calls;
// [/solution-benchmark]

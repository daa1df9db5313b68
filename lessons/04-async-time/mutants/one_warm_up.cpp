// rejected by: warms_up
// because: Make three
//
// The misconception: one call warms everything up.

// [solution-benchmark]
for (int i = 0; i < 1; ++i) enqueue();
runtime::context(device).synchronize();
const double start = now();
for (int i = 0; i < calls; ++i) enqueue();
runtime::context(device).synchronize();
return (now() - start) / calls;
// [/solution-benchmark]

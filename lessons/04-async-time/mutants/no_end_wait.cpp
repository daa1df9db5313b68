// rejected by: ends_with_a_wait
// because: reports 180 calls per second
//
// The misconception: a call that has come back is done.

// [solution-benchmark]
for (int i = 0; i < 3; ++i) enqueue();
runtime::context(device).synchronize();
const double start = now();
for (int i = 0; i < calls; ++i) enqueue();
return (now() - start) / calls;
// [/solution-benchmark]

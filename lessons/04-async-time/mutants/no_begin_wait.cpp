// rejected by: begins_with_a_wait
// because: its time is counted
//
// The misconception: only the end of a measurement needs a wait.

// [solution-benchmark]
for (int i = 0; i < 3; ++i) enqueue();
const double start = now();
for (int i = 0; i < calls; ++i) enqueue();
runtime::context(device).synchronize();
return (now() - start) / calls;
// [/solution-benchmark]

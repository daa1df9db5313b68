// rejected by: ends_with_a_wait
// because: use the clock passed to you
//
// The misconception: any clock will do.

// [solution-benchmark]
for (int i = 0; i < 3; ++i) enqueue();
runtime::context(device).synchronize();
const auto start = std::chrono::steady_clock::now();
for (int i = 0; i < calls; ++i) enqueue();
runtime::context(device).synchronize();
return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
       calls;
// [/solution-benchmark]

// rejected by: ends_with_a_wait
// because: the clock is the one that you are given
//
// The misconception: any clock will do.

// [solution-benchmark]
  for (int i = 0; i < 3; ++i) enqueue();
  runtime::context(device).synchronize();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) enqueue();
  runtime::context(device).synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
             .count() /
         calls;
// [/solution-benchmark]

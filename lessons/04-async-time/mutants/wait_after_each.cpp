// rejected by: stays_ahead
// because: take turns
//
// The misconception: an exact measurement waits for each call.

// [solution-benchmark]
for (int i = 0; i < 3; ++i) enqueue();
runtime::context(device).synchronize();
const double start = now();
for (int i = 0; i < calls; ++i) {
  enqueue();
  runtime::context(device).synchronize();
}
return (now() - start) / calls;
// [/solution-benchmark]

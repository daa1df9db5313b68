// rejected by: set_before_start
// because: if nobody tells it
//
// The misconception (of hundreds of scripts): shuffle = True is enough.

// [solution-train]
for (int64_t epoch = first; epoch <= last; ++epoch) {
  start();
  while (step()) {
  }
}
return;
// [/solution-train]

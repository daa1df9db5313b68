// rejected by: set_before_start
// because: a resumed run counts on
//
// The misconception: epochs are counted from where this run began.

// [solution-train]
for (int64_t epoch = first; epoch <= last; ++epoch) {
  shard.set_epoch(epoch - first);
  start();
  while (step()) {
  }
}
return;
// [/solution-train]

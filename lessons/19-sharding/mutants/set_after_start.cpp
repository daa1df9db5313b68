// rejected by: set_before_start
// because: each epoch has the order of the one before
//
// The misconception: set_epoch belongs into the epoch, so it comes after its
// beginning.

// [solution-train]
for (int64_t epoch = first; epoch <= last; ++epoch) {
  start();
  shard.set_epoch(epoch);
  while (step()) {
  }
}
return;
// [/solution-train]

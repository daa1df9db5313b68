// rejected by: set_before_start
// because: counts samples, not batches
//
// The misconception: an epoch has as many steps as a rank has samples.
// [solution-train]
for (int64_t epoch = first; epoch <= last; ++epoch) {
  shard.set_epoch(epoch);
  start();
  for (int64_t i = 0; i < shard.size(); ++i) step();
}
return;
// [/solution-train]

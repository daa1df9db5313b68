// rejected by: set_before_start
// because: no epoch is left
//
// The misconception: there is always an epoch to train. A run that is started again
// after its last epoch then trains once more.
// [solution-train]
int64_t epoch = first;
do {
  shard.set_epoch(epoch);
  start();
  while (step()) {
  }
} while (++epoch <= last);
return;
// [/solution-train]

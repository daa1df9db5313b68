// rejected by: add_keeps
// because: what the worker had read
//
// The misconception: after a failure, the step begins at the weight as it is, so that is
// what was read.
// [solution-add]
double now = weight.load();
if (!weight.compare_exchange(now, moved(now, read, next))) {
  while (!weight.compare_exchange(now, moved(now, now, next))) {
  }
}
return;
// [/solution-add]

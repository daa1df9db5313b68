// rejected by: of_its_own
// because: does not wait for other gradients
//
// The misconception: ssp is a sync that takes its time, so an update is still a mean.

// [solution-async]
if (options.consistency == Consistency::async) {
  server.update({worker}, 1);
  return;
}
// [/solution-async]

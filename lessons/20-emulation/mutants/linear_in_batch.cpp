// rejected by: the_line
// because: does not depend on it
//
// The misconception: half a batch takes half the time.

// [solution-time]
  return job.large.*phase * batch / job.large.batch;
// [/solution-time]

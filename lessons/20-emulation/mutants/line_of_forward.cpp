// rejected by: the_line
// because: each phase has a line of its own
//
// The misconception: what holds for forward holds for all phases.

// [solution-time]
  (void)phase;
  const double small = job.small.forward, large = job.large.forward;
  return small + (large - small) * (batch - job.small.batch) /
                     (job.large.batch - job.small.batch);
// [/solution-time]

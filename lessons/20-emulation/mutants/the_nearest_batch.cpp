// rejected by: the_line
// because: the line through the two recorded points
//
// The misconception: the nearest recording is good enough.

// [solution-time]
  const double middle = (job.small.batch + job.large.batch) / 2;
  return batch < middle ? job.small.*phase : job.large.*phase;
// [/solution-time]

// rejected by: the_line
// because: in an int it is 102
//
// The misconception: microseconds are whole numbers.

// [solution-time]
  const int slope = (job.large.*phase - job.small.*phase) /
                    (job.large.batch - job.small.batch);
  return job.small.*phase + slope * (batch - job.small.batch);
// [/solution-time]

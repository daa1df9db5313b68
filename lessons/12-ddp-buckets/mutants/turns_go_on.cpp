// rejected by: in_flight
// because: must be counted again
//
// The misconception: whose turn it is follows from the last launch, and the first step
// was right. In the second step all turns are over before it begins.

// [solution-begin]
arrived_.assign(parameters_.size(), false);
for (Progress& progress : buckets_) {
  progress.missing = progress.bucket.members().size();
  progress.after.clear();
}
return;
// [/solution-begin]

// rejected by: this_step_only
// because: of the step before
//
// `after` grows with every step.

// [solution-begin]
arrived_.assign(parameters_.size(), false);
next_ = 0;
for (Progress& progress : buckets_) {
  progress.missing = progress.bucket.members().size();
}
return;
// [/solution-begin]

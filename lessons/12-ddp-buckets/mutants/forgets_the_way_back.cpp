// rejected by: means
// because: the mean is in the bucket
//
// The misconception: a bucket consists of the gradients themselves, so that they are
// the mean once the bucket is.

// [solution-finish]
for (size_t p = 0; p < parameters_.size(); ++p) {
  if (!arrived_[p]) gradient_ready(p);
}
for (Progress& progress : buckets_) progress.work.wait();
return;
// [/solution-finish]

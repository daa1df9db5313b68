// rejected by: launched_in_turn
// because: a bucket did not leave in its turn
//
// The misconception: the bucket that has just been completed is the one to launch, if
// it is its turn.

// [solution-turn]
if (next_ < buckets_.size() && buckets_[next_].missing == 0) {
  launch(buckets_[next_++]);
}
return;
// [/solution-turn]

// rejected by: in_flight
// because: backward is blocked
//
// The misconception: the code that starts a collective waits for it.

// [solution-turn]
while (next_ < buckets_.size() && buckets_[next_].missing == 0) {
  launch(buckets_[next_]);
  buckets_[next_++].work.wait();
}
return;
// [/solution-turn]

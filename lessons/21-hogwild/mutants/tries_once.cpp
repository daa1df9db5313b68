// rejected by: add_keeps
// because: made again, from the new value
//
// The misconception: the second attempt cannot fail.

// [solution-add]
double now = weight.load();
if (!weight.compare_exchange(now, moved(now, read, next))) {
  weight.exchange(moved(now, read, next));
}
return;
// [/solution-add]

// rejected by: add_keeps
// because: made again, from the new value
//
// The misconception: where the step leads need not be computed again. The second
// attempt stores what was right before the other worker came.

// [solution-add]
double now = weight.load();
const double target = moved(now, read, next);
while (!weight.compare_exchange(now, target)) {
}
return;
// [/solution-add]

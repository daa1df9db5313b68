// rejected by: worst_case
// because: need not be where this worker is
//
// The misconception: the others are at the same step when this worker pulls.

// [solution-stale]
return (workers - 1) * (staleness + 1);
// [/solution-stale]

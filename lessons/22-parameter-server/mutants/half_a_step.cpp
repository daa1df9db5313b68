// rejected by: worst_case
// because: to the end of its last step
//
// The misconception: from s steps behind to s steps ahead are 2 s steps. The last pull
// is followed by one more.

// [solution-stale]
return (workers - 1) * 2 * staleness;
// [/solution-stale]

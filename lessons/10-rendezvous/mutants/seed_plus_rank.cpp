// rejected by: other_seed
// because: the same seed as rank 0
//
// The misconception: seed + rank is different on every rank, and that is enough.

// [solution-seeds]
return {seed, seed, seed + rank};
// [/solution-seeds]

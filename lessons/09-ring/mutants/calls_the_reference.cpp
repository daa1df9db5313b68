// rejected by: two_ranks
// because: must be written here, not called
//
// The slot knows what it held before, and does both halves.

// [solution-reduce-scatter]
return distributed::ring_all_reduce().reference()(link, data);
// [/solution-reduce-scatter]
// [solution-all-gather]
return;
// [/solution-all-gather]

// rejected by: two_ranks
// because: until all have been sent around once more
//
// The misconception: when every chunk has been around, everybody has the sum. But each
// rank has finished one chunk only.

// [solution-all-gather]
return;
// [/solution-all-gather]

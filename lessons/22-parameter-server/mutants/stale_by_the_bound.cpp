// rejected by: worst_case
// because: not on updates in between
//
// The misconception: with ssp no gradient is staler than the bound. Then none would be
// stale with a bound of 0.

// [solution-stale]
return workers > 1 ? staleness : 0;
// [/solution-stale]

// rejected by: asks_and_waits
// because: normalises by its own part
//
// The misconception: DDP makes everything equal, batch norm's statistics included.

// [solution-statistics]
(void)group, (void)label;
return mine;
// [/solution-statistics]
// [solution-sums]
(void)group, (void)label;
return mine;
// [/solution-sums]

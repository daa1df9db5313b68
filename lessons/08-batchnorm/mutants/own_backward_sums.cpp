// rejected by: backward_sums
// because: its gradient depends on every rank's dy
//
// The misconception: batch norm communicates in forward only; DDP does the gradients.

// [solution-sums]
(void)group, (void)label;
return mine;
// [/solution-sums]

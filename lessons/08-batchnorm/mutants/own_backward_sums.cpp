// rejected by: backward_sums
// because: everybody's dy comes back
//
// The misconception: batch norm communicates in forward only; DDP does the gradients.

// [solution-sums]
  (void)group, (void)label;
  return mine;
// [/solution-sums]

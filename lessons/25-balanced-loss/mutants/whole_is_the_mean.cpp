// rejected by: over_all
// because: this is the mean of the chunks' means
//
// The misconception: a mean of means is the mean. (transformers#608)

// [solution-whole]
  return criterion(criteria, outputs);
// [/solution-whole]

// rejected by: own_code
// because: must be written, not called
//
// The engine has this function.

// [solution-sum]
  return sharing::sum_features(gradients, flat, ring);
// [/solution-sum]

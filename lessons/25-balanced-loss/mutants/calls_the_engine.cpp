// rejected by: own_code
// because: must be written, not called
//
// The engine has this function.

// [solution-reduce]
  return parallel::reduce(losses);
// [/solution-reduce]

// rejected by: own_code
// because: must be written, not called
//
// The engine has both functions.

// [solution-begin]
return sharing::begin_step(model, lock);
// [/solution-begin]

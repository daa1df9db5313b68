// rejected by: own_code
// because: must be written, not called
//
// The engine has both functions.

// [solution-average]
sharing::average_with_others(state, flat, group);
return;
// [/solution-average]

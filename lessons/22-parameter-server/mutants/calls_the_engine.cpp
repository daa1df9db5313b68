// rejected by: own_code
// because: must be written, not called
//
// The engine has both functions.

// [solution-pull]
return sharing::may_pull(server, options, worker);
// [/solution-pull]

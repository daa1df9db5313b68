// rejected by: own_code
// because: must be written, not called
//
// The engine's own scatter does it in one line.

// [solution-scatter]
return parallel::scatter(input, devices);
// [/solution-scatter]

// rejected by: adaptive_windows
// because: none is empty
//
// The misconception: all windows are in / out cells wide.

// [solution-averaged]
return {i * (in / out), (i + 1) * (in / out)};
// [/solution-averaged]

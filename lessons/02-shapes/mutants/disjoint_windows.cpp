// rejected by: adaptive_windows
// because: the end up
//
// The misconception: windows touch and never overlap.

// [solution-averaged]
return {i * in / out, (i + 1) * in / out};
// [/solution-averaged]

// rejected by: asks_and_waits
// because: must be written here, not called
//
// The slot knows what it held before.

// [solution-statistics]
return distributed::sync_statistics().reference()(mine, group, label);
// [/solution-statistics]

// rejected by: in_between
// because: nobody came in between
//
// The misconception: the update of a worker that nobody disturbed is one version old,
// and so is that of a worker that one other disturbed.

// [solution-staleness]
return version - read_version > 2 ? version - 1 - read_version : 1;
// [/solution-staleness]

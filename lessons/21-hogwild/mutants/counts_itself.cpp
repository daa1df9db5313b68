// rejected by: in_between
// because: nobody came in between
//
// The misconception: staleness is the difference of the versions.

// [solution-staleness]
return version - read_version;
// [/solution-staleness]

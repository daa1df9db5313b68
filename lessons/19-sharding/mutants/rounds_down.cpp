// rejected by: as_many
// because: rounded up, or down with drop_last
//
// The misconception: integer division is good enough. The last samples are never read.

// [solution-size]
return share_.length / share_.world;
// [/solution-size]

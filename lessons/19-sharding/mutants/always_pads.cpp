// rejected by: as_many
// because: rounded up, or down with drop_last
//
// The misconception: `drop_last` is an option of the loader only.

// [solution-size]
return (share_.length + share_.world - 1) / share_.world;
// [/solution-size]

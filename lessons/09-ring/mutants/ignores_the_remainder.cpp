// rejected by: remainder
// because: numel / world rounds down
//
// The misconception: integer division loses nothing.

// [solution-chunk]
const int64_t count = data.numel / world;
return data.part(i * count, count);
// [/solution-chunk]

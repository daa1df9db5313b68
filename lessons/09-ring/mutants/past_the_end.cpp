// rejected by: remainder
// because: reaches past the end of the tensor
//
// The misconception: all chunks are of ceil(n / world), and the last one takes care of
// itself.

// [solution-chunk]
const int64_t count = (data.numel + world - 1) / world;
return data.part(i * count, count);
// [/solution-chunk]

// rejected by: fair_chunks
// because: sizes differ by at most one element
//
// The misconception: a tensor with fewer elements than ranks is not worth cutting, and
// all of it is chunk 0.

// [solution-chunk]
if (data.numel < world) return data.part(0, i == 0 ? data.numel : 0);
const int64_t first = data.numel * i / world;
const int64_t end = data.numel * (i + 1) / world;
return data.part(first, end - first);
// [/solution-chunk]

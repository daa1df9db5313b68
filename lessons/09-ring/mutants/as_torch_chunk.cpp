// rejected by: fair_chunks
// because: as torch.chunk does
//
// The misconception: chunks are cut as in scatter, ceil(n / world) each and the last
// one what is left.

// [solution-chunk]
const int64_t size = (data.numel + world - 1) / world;
const int64_t first = std::min(data.numel, i* size);
return data.part(first, std::min(data.numel, first + size) - first);
// [/solution-chunk]

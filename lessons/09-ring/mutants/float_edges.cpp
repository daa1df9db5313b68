// rejected by: large_tensor
// because: a float has 24 bits
//
// The misconception: edges are computed in float, which has 24 bits: large tensors get
// uneven chunks, and the last elements may be lost.

// [solution-chunk]
const float size = static_cast<float>(data.numel) / static_cast<float>(world);
const auto first = static_cast<int64_t>(size * static_cast<float>(i));
const auto end = static_cast<int64_t>(size * static_cast<float>(i + 1));
return data.part(first, end - first);
// [/solution-chunk]

// rejected by: nine_over_four
// because: not an empty chunk
//
// The misconception: every device takes part, if need be with an empty chunk.

// [solution-sizes]
const int64_t size = (batch + devices - 1) / devices;
std::vector<int64_t> sizes;
for (int64_t d = 0; d < devices; ++d) {
  sizes.push_back(std::max<int64_t>(0, std::min(size, batch - d * size)));
}
return sizes;
// [/solution-sizes]

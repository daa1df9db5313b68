// rejected by: ten_over_four
// because: torch.chunk takes ceil
//
// The misconception: chunks are balanced, so that no device has more than one sample
// more than another.

// [solution-sizes]
std::vector<int64_t> sizes;
for (int64_t d = 0; d < devices; ++d) {
  const int64_t size = batch / devices + (d < batch % devices ? 1 : 0);
  if (size > 0) sizes.push_back(size);
}
return sizes;
// [/solution-sizes]

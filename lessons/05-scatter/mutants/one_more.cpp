// rejected by: even_split
// because: nothing is left over
//
// The misconception: rounding up is adding one.

// [solution-sizes]
const int64_t size = batch / devices + 1;
std::vector<int64_t> sizes;
for (int64_t left = batch; left > 0; left -= size) {
  sizes.push_back(std::min(size, left));
}
return sizes;
// [/solution-sizes]
